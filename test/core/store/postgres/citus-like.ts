import pg from 'pg';
import { freshPostgresDatabase } from '../postgres-server.ts';

export interface CitusLike {
	/** The `synchronous_commit` of each worker, by host and port; `null` if the worker does not answer. */
	readonly workers: Readonly<Record<string, string | null>>;
	/** 0 for the coordinator. */
	readonly localGroup?: number;
	/** Host and port of the coordinator, as a worker knows it. */
	readonly coordinator?: string;
	/** Whether new schemas are distributed, to the first worker. */
	readonly distributes?: boolean;
	/** The empty database to be used; a new one by default. */
	readonly database?: string;
}

/**
 * A plain database that answers like one with Citus (as observed on Citus 13.2 with PostgreSQL 15), as far as Caskade
 * notices: the catalog, which schemas are distributed, and which statements are refused. All its rows are stored
 * locally.
 * @returns its address
 */
export async function freshCitusLike(options: CitusLike): Promise<string> {
	const { workers, localGroup = 0, coordinator, distributes = true } = options;
	const address = options.database ?? (await freshPostgresDatabase());
	const session = new pg.Client({ connectionString: address });
	await session.connect();
	try {
		await session.query(catalog);
		await session.query(refusals);
		await session.query('INSERT INTO pg_dist_local_group VALUES ($1)', [localGroup]);
		for (const [number, [name, setting]] of Object.entries(workers).entries()) {
			const [host, port] = name.split(':');
			await session.query(
				"INSERT INTO pg_dist_node (groupid, nodename, nodeport, isactive, noderole, synchronous_commit) VALUES ($1, $2, $3, true, 'primary', $4)",
				[number + 1, host, port, setting],
			);
		}
		if (coordinator !== undefined) {
			const [host, port] = coordinator.split(':');
			await session.query(
				"INSERT INTO pg_dist_node (groupid, nodename, nodeport, isactive, noderole) VALUES (0, $1, $2, true, 'primary')",
				[host, port],
			);
		}
		const name = new URL(address).pathname.slice(1);
		await session.query(
			`ALTER DATABASE ${name} SET citus.enable_schema_based_sharding TO ${distributes ? 'on' : 'off'}`,
		);
		await session.query(`ALTER DATABASE ${name} SET search_path TO citus_like, pg_catalog, "$user", public`);
	} finally {
		await session.end();
	}
	return address;
}

/** The tables that Citus keeps in `pg_catalog`. */
const catalog = `
INSERT INTO pg_extension (oid, extname, extowner, extnamespace, extrelocatable, extversion)
	VALUES (99999, 'citus', 10, 11, false, '13.2-1');
CREATE TABLE pg_dist_local_group (groupid integer);
CREATE TABLE pg_dist_node (
	groupid integer, nodename text, nodeport integer, isactive boolean, noderole text, synchronous_commit text,
	metadatasynced boolean DEFAULT true
);
CREATE TABLE pg_dist_schema (schemaid oid);
CREATE TABLE pg_dist_partition (logicalrelid regclass);
CREATE TABLE pg_dist_shard (logicalrelid regclass, shardid bigint GENERATED ALWAYS AS IDENTITY);
CREATE TABLE pg_dist_placement (shardid bigint, groupid integer, placementid bigint GENERATED ALWAYS AS IDENTITY);

CREATE FUNCTION run_command_on_workers(command text, OUT nodename text, OUT nodeport integer, OUT success boolean, OUT result text)
	RETURNS SETOF record LANGUAGE sql AS $$
	SELECT nodename, nodeport, synchronous_commit IS NOT NULL, coalesce(synchronous_commit, 'connection refused')
		FROM public.pg_dist_node WHERE groupid <> 0 AND command = 'SHOW synchronous_commit'
$$;

CREATE FUNCTION lock_shard_metadata(lock_mode integer, shard_ids bigint[]) RETURNS void LANGUAGE sql AS $$ SELECT $$;

CREATE FUNCTION distribute() RETURNS event_trigger LANGUAGE plpgsql AS $$
DECLARE made record; shard bigint;
BEGIN
	FOR made IN SELECT * FROM pg_event_trigger_ddl_commands() LOOP
		IF made.command_tag = 'CREATE SCHEMA' AND current_setting('citus.enable_schema_based_sharding', true) = 'on' THEN
			INSERT INTO public.pg_dist_schema VALUES (made.objid);
		ELSIF made.command_tag = 'CREATE TABLE' AND made.schema_name::regnamespace IN (SELECT schemaid FROM public.pg_dist_schema) THEN
			INSERT INTO public.pg_dist_partition VALUES (made.objid);
			INSERT INTO public.pg_dist_shard (logicalrelid) VALUES (made.objid) RETURNING shardid INTO shard;
			INSERT INTO public.pg_dist_placement VALUES (shard, 1);
		END IF;
	END LOOP;
END $$;
CREATE EVENT TRIGGER distribute ON ddl_command_end EXECUTE FUNCTION distribute();
`;

/** What Citus refuses, with its messages. Effective from the last statement on. */
const refusals = `
CREATE SCHEMA citus_like;
CREATE FUNCTION citus_like.setval(sequence regclass, value bigint, is_called boolean) RETURNS bigint LANGUAGE plpgsql AS $$
BEGIN
	IF current_query() ~ '\\mFROM\\M' THEN
		RAISE EXCEPTION 'setval: value % is out of bounds for sequence "%"', value, sequence USING ERRCODE = '22003';
	END IF;
	RETURN pg_catalog.setval(sequence, value, is_called);
END $$;

-- Rows of distributed tables lie here, too, but would not there, except for those of these tables.
CREATE TABLE left_behind (relation regclass);
CREATE FUNCTION citus_like.pg_relation_size(relation regclass) RETURNS bigint LANGUAGE sql AS $$
	SELECT count(*) * 8192 FROM public.left_behind WHERE left_behind.relation = pg_relation_size.relation
$$;

CREATE FUNCTION refuse_several() RETURNS event_trigger LANGUAGE plpgsql AS $$
BEGIN
	IF regexp_replace(current_query(), '--[^\\n]*', '', 'g') ~ ';\\s*\\S' THEN
		RAISE EXCEPTION 'cannot insert multiple commands into a prepared statement' USING ERRCODE = '42601';
	END IF;
END $$;
CREATE EVENT TRIGGER refuse_several ON ddl_command_start EXECUTE FUNCTION refuse_several();
`;
