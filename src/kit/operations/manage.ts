import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import type { AccessDirectory } from '../../core/access/directory.ts';
import {
	type AdmittedRequest,
	accountOf,
	bodyErrors,
	type KeyOperationOptions,
	keyOperation,
	readErrors,
} from '../../core/api/key-operation.ts';
import type { Server, ServingPart } from '../../core/api/serving-part.ts';
import { storeFailed } from '../../core/api/store-failed.ts';
import { ApiError, OperatorError } from '../../core/errors.ts';
import { sendJson } from '../../core/http/answer.ts';
import { parseJson } from '../../core/http/body.ts';
import { describeErrors, describeJson } from '../../core/http/openapi.ts';
import { type Schema, Type } from '../../core/schema/type.ts';
import type { KnownAccount } from '../../core/store/control/control-store.ts';
import type { OpenStore } from '../../core/store/store.ts';
import {
	type AnyAct,
	type Field,
	type Fields,
	isYes,
	parserOf,
	runAct,
	shownResult,
	takesMany,
} from '../act.ts';
import type { Capability, ManagedActs } from '../capability-declaration.ts';
import { capitalised } from '../format/capitalised.ts';
import type { Listing } from '../listing.ts';

/** All acts that programs may do, by noun. */
export const managedActsOf = (capabilities: readonly Capability[]): Readonly<Record<string, ManagedActs>> =>
	Object.assign({}, ...capabilities.map(({ acts }) => acts));

/** `POST /manage/NOUN/VERB`: an act about an account of the key's client, as its command and form do it. */
export function manage(server: Server, capabilities: readonly Capability[]): ServingPart {
	const acts = managedActsOf(capabilities);
	return server.roles.includes('manage')
		? { operations: (app, guard) => addActs(app, { ...guard, ...server, acts }) }
		: {};
}

interface ManageOptions extends KeyOperationOptions {
	readonly directory: AccessDirectory;
	readonly store: OpenStore;
	readonly acts: Readonly<Record<string, ManagedActs>>;
}

function addActs(app: FastifyInstance, options: ManageOptions): void {
	for (const [noun, of] of Object.entries(options.acts)) {
		if (of.isListed)
			keyOperation(app, options, {
				method: 'GET',
				url: `/manage/${noun}`,
				name: 'manage',
				operationId: `list${capitalised(noun)}s`,
				scope: 'manage',
				takes: 'rate and quota',
				description: async () => describeList(await loadListing(of, noun)),
				handle: async (request, reply, admitted) =>
					list(await loadListing(of, noun), request, reply, admitted),
			});
		for (const verb of of.verbs)
			keyOperation(app, options, {
				method: 'POST',
				url: `/manage/${noun}/${verb}`,
				name: 'manage',
				operationId: `manage${capitalised(noun)}${verb.split('-').map(capitalised).join('')}`,
				scope: 'manage',
				takes: 'rate and quota',
				description: async () => describe(await loadAct(of, noun, verb)),
				handle: async (request, reply, admitted) =>
					handle(await loadAct(of, noun, verb), request, reply, admitted),
			});
	}

	async function list(
		{ read }: Listing,
		request: FastifyRequest,
		reply: FastifyReply,
		admitted: AdmittedRequest,
	): Promise<FastifyReply> {
		const { aid: named, ...others } = request.query as Readonly<Record<string, unknown>>;
		const [unknown] = Object.keys(others);
		if (unknown !== undefined) throw invalid(`${unknown} is not known here`);
		const { aid } = accountNamed(named, admitted);
		try {
			const rows = await read(options.store, await options.store.control.account(aid));
			if (!reply.sent) sendJson(reply, 200, JSON.stringify(rows));
		} catch (error) {
			storeFailed(aid)(error);
		}
		return reply;
	}

	function accountNamed(named: unknown, admitted: AdmittedRequest): KnownAccount {
		const account = accountOf(named, admitted, options.directory);
		if (!account) throw invalid('aid must be the token of one account');
		return account;
	}

	async function handle(
		of: AnyAct,
		request: FastifyRequest,
		reply: FastifyReply,
		admitted: AdmittedRequest,
	): Promise<FastifyReply> {
		const { aid: named, ...body } = objectOf(parseJson(request.body as Buffer | undefined));
		const account = accountNamed(named, admitted);
		const { store } = options;
		const who = `key ${admitted.key.id}`;
		try {
			const given = givenIn(of.takes, body);
			const result = await runAct(of, who, { store, account }, given);
			if (!reply.sent) sendJson(reply, 200, JSON.stringify(shownResult(of, given, result)));
		} catch (error) {
			if (error instanceof ApiError) throw error;
			if (error instanceof OperatorError) throw invalid(error.message);
			storeFailed(account.aid)(error);
		}
		return reply;
	}
}

/** @throws Error where the list of acts names one that there is not */
export async function loadAct(acts: ManagedActs, noun: string, verb: string): Promise<AnyAct> {
	const all = Object.values(await acts.load()) as AnyAct[];
	const found = all.find((of) => of?.noun === noun && of.verb === verb);
	if (!found) throw new Error(`there is no act ${noun} ${verb}`);
	return found;
}

/** @throws Error where a capability says that a noun is listed, and it is not */
export async function loadListing(acts: ManagedActs, noun: string): Promise<Listing> {
	const all = Object.values(await acts.load()) as (Listing | undefined)[];
	const found = all.find((one) => one?.noun === noun && typeof one.read === 'function');
	if (!found) throw new Error(`there is no list of ${noun}`);
	return found;
}

function invalid(detail: string): ApiError {
	return new ApiError('invalid_act', { detail });
}

function objectOf(body: unknown): Readonly<Record<string, unknown>> {
	if (typeof body !== 'object' || body === null || Array.isArray(body)) throw invalid('it must be an object');
	return body as Readonly<Record<string, unknown>>;
}

/**
 * What a request gives to an act: texts and numbers as somebody would type them, lists of these, yes or no, and null for what is to be
 * taken away.
 * @throws ApiError `invalid_act`, which names every wrong field
 */
function givenIn(takes: Fields, body: Readonly<Record<string, unknown>>): Record<string, unknown> {
	const problems = Object.keys(body)
		.filter((name) => !Object.hasOwn(takes, name))
		.map((name) => `${name} is not known here`);
	const given = Object.entries(takes).map(([name, field]) => {
		try {
			return [name, valueIn(field, body[name])];
		} catch (error) {
			if (!(error instanceof OperatorError)) throw error;
			problems.push(`${name}: ${error.message.replace(/^It\b/, 'it').replace(/\.$/, '')}`);
			return [name, undefined];
		}
	});
	if (problems.length > 0) throw invalid(problems.join('; '));
	return Object.fromEntries(given);
}

function valueIn(field: Field, value: unknown): unknown {
	const { usual, isOptional = false, negation } = field;
	const parse = parserOf(field);
	const parsed = (one: unknown) => {
		if (typeof one !== 'string' && typeof one !== 'number')
			throw new OperatorError('It must be a text or a number.');
		return parse(String(one));
	};
	if (isYes(field)) {
		if (value === undefined) return isOptional ? undefined : false;
		if (typeof value !== 'boolean') throw new OperatorError('It must be true or false.');
		return value;
	}
	if (value === null && negation) return null;
	if (value === undefined) {
		if (usual !== undefined) return parse(usual);
		if (isOptional) return undefined;
		throw new OperatorError('It is required.');
	}
	if (!takesMany(field)) return parsed(value);
	if (!Array.isArray(value) || value.length === 0)
		throw new OperatorError('It must be a list of one or more.');
	return [...new Set(value.map(parsed))];
}

/** The entry of a list in the OpenAPI document. */
function describeList({ summary }: Listing): object {
	return {
		tags: ['Management'],
		summary: capitalised(summary),
		description:
			'Uses one request of rate and quota. The key must have been issued with `--scope manage`. Secrets are left out. For servers, not for browsers.',
		querystring: Type.Object({ aid: Type.String({ description: 'Account token of the client.' }) }),
		response: {
			200: describeJson(
				'What the command prints with `--json`.',
				Type.Array(Type.Object({}, { additionalProperties: {} })),
				[],
			),
			...describeErrors({
				invalid_act: ['aid must be the token of one account'],
				invalid_account: ['No account c-a-x is available to this API key.'],
				...readErrors,
			}),
		},
	};
}

/** Its entry in the OpenAPI document. */
function describe({ summary, description, takes }: AnyAct): object {
	const fields = Object.entries<Field>(takes).map(([name, field]) => [name, schemaOf(field)]);
	return {
		tags: ['Management'],
		summary: capitalised(summary),
		description: `${description === undefined ? '' : `${description}\n\n`}Uses one request of rate and quota. The key must have been issued with \`--scope manage\`, and \`caskade audit list\` says what it did. For servers, not for browsers.`,
		body: Type.Object({
			aid: Type.String({ description: 'Account token of the client.' }),
			...Object.fromEntries(fields),
		}),
		response: {
			200: describeJson(
				'What the command prints with `--json`.',
				Type.Object({}, { additionalProperties: {} }),
				{},
			),
			...describeErrors({
				malformed_json: ['the body is empty'],
				invalid_act: ['horizonDays: it must be a number from 1 to 365'],
				invalid_account: ['No account c-a-x is available to this API key.'],
				...bodyErrors,
				...readErrors,
			}),
		},
	};
}

function schemaOf(field: Field): Schema {
	const { text, usual, isOptional = false, negation, choices } = field;
	const description = `${capitalised(text)}.${usual === undefined ? '' : ` Default: ${usual}.`}`;
	const one = choices ? Type.Union(choices.map((choice) => Type.Literal(choice))) : Type.String();
	const some = isYes(field)
		? Type.Boolean({ description })
		: takesMany(field)
			? Type.Array(one, { description })
			: { ...one, description };
	const nullable = negation && !isYes(field) ? Type.Union([some, Type.Null()], { description }) : some;
	return isOptional || usual !== undefined || isYes(field) ? Type.Optional(nullable) : nullable;
}
