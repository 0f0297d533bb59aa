import { againstBareHttp } from './against-bare-http.ts';
import type { Benchmark } from './benchmark.ts';
import { maxVisitorsWithHistory } from './database.ts';
import { MetricsSample } from './metrics.ts';
import type { BenchmarkName } from './options.ts';
import { upload } from './servers.ts';
import { whole } from './table.ts';
import { eventsPerUpload } from './upload-bodies.ts';
import { type Load, uploads } from './wrk.ts';

/** Uploads in which every event is joined to a visitor, so that it becomes part of a profile. */
const joined = (name: BenchmarkName, engine: 'SQLite' | 'PostgreSQL', aimUs: number): Benchmark =>
	againstBareHttp(name, engine, (bench) => ({
		parse: true,
		visitorCounts: engine === 'SQLite' ? bench.options.visitorCounts : [bench.options.pgVisitors],
		async prepare(server, { database, visitors }) {
			const { key } = engine === 'SQLite' ? bench.caskade : (await bench.onPostgres()).caskade;
			const customers = Math.min(visitors, maxVisitorsWithHistory);
			const load: Load = { rows: eventsPerUpload, key, tids: 'rising', customers };
			const eventsBefore = await database.countEvents();
			const sample = await upload(server.url, key, eventsPerUpload);
			return {
				loadKinds: [
					{
						title: `${eventsPerUpload} new events a request, all joined`,
						script: () => uploads(load),
						sample,
						aimUs,
					},
				],
				async finish() {
					const counted = (await MetricsSample.read(server.metricsUrl)).eventsStored;
					const [events, joinedEvents] = [await database.countEvents(), await database.countJoined()];
					// The sample upload has the cids of no visitor, so its events stay unjoined.
					if (events - eventsBefore !== counted || joinedEvents < events - 2 * eventsPerUpload)
						throw new Error(
							`${name}: ${events - eventsBefore} events are in the database, ${joinedEvents} of them joined, but the server counted ${counted}.`,
						);
					return {
						rows: [],
						notes: [
							`${name}, ${whole(visitors)} visitors: ${whole(events)} events are in the database, ${whole(joinedEvents)} of them joined.`,
						],
					};
				},
			};
		},
	}));

export const joinedBenchmark = joined('joined-uploads', 'SQLite', 2500);
export const pgJoinedBenchmark = joined('pg-joined-uploads', 'PostgreSQL', 3400);
