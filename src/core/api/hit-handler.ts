import { randomBytes } from 'node:crypto';
import type { FastifyReply, FastifyRequest } from 'fastify';
import { issueCask } from '../access/cask.ts';
import type { AccessDirectory } from '../access/directory.ts';
import { retryAfter } from '../access/limit-headers.ts';
import { deviceOf, isBot } from '../collect/device.ts';
import type { HitBudget } from '../collect/hit-budget.ts';
import { toHitRecord } from '../collect/hit-record.ts';
import { believedIds } from '../collect/shown-ids.ts';
import { readVisitorCookies, visitorCookies } from '../collect/visitor-cookies.ts';
import { type CaskScope, isSubject } from '../domain/cask-scope.ts';
import { clientOf, type IsProxy, type ProxyProblem } from '../domain/client-address.ts';
import { derivedVisitor } from '../domain/derived-vid.ts';
import type { StoredHit } from '../domain/stored-hit.ts';
import { ApiError } from '../errors.ts';
import { allowAllOrigins, allowCredentials, allowOrigins, isAllowedOrigin } from '../http/cors.ts';
import { commonDomain, partyOf } from '../http/party.ts';
import { findHitProblems, type HitRequest, hitCheck, mendHit } from '../schema/hit-request.ts';
import { describeProblems } from '../schema/problems.ts';
import type { Subject, VisitorReads } from '../segments/visitor-reads.ts';
import type { KnownAccount } from '../store/control/control-store.ts';
import type { RequestWriter } from '../store/serving.ts';
import { included } from './reads.ts';
import { storeFailed } from './store-failed.ts';

export interface HitOptions {
	readonly directory: AccessDirectory;
	readonly writer: Pick<RequestWriter, 'storeHit'>;
	readonly reads: VisitorReads;
	readonly budget: HitBudget;
	/** The trusted proxies, if there are any. */
	readonly isProxy: IsProxy | undefined;
	/** Whether hits from an address are not stored: the operator's own people, and data centres. */
	readonly isIgnored: (address: string | undefined) => boolean;
	/** Milliseconds since 1970. */
	readonly now: () => number;
	readonly onHit: (kind: 'stored' | 'bot' | 'ignored' | 'refused') => void;
	/** A visitor of an account with webhooks has changed. */
	readonly onVisitorChange: (accountId: number) => void;
	/** A part of the answer to a hit was left out. */
	readonly onLeftOut: (request: FastifyRequest, aid: string, error: unknown) => void;
	readonly onProxyProblem: (problem: ProxyProblem) => void;
}

export interface CollectedHit extends StoredHit {
	readonly atMs: number;
	readonly account: KnownAccount;
	/** The answer sets the cookies of the visitor. */
	readonly hasCookies: boolean;
	/** What of the hit was not stored, and why. */
	readonly ignored: string | undefined;
}

/** The common part of `POST /hit` and `GET /hit.gif`: budgets, checks, storing, the answer. */
export class HitHandler {
	readonly #options: HitOptions;
	/** Problems that were logged, once per process. */
	readonly #logged = new Set<ProxyProblem>();
	/** Requests that come from where hits are not stored; of the address itself nothing is kept. */
	readonly #ignored = new WeakSet<FastifyRequest>();

	constructor(options: HitOptions) {
		this.#options = options;
	}

	/**
	 * Checks the budget of the client's address, before the body is read.
	 * @throws ApiError `rate_limit_exceeded`
	 */
	admit(request: FastifyRequest, reply: FastifyReply): void {
		allowAllOrigins(reply);
		reply.header('cache-control', 'no-store');
		this.#takeOfClient(request);
	}

	#takeOfClient(request: FastifyRequest): void {
		const { address, problem } = clientOf(request.raw, this.#options.isProxy);
		if (this.#options.isIgnored(address)) this.#ignored.add(request);
		if (problem && !this.#logged.has(problem)) {
			this.#logged.add(problem);
			this.#options.onProxyProblem(problem);
		}
		this.#wait(this.#options.budget.takeOfAddress(address));
	}

	#wait(retryAfterMs: number): void {
		if (retryAfterMs === 0) return;
		this.#options.onHit('refused');
		throw new ApiError('rate_limit_exceeded', { headers: retryAfter(retryAfterMs) });
	}

	/**
	 * Stores a hit, unless it is a bot's or comes from an ignored address.
	 * @throws ApiError
	 */
	async collect(request: FastifyRequest, reply: FastifyReply, sent: unknown): Promise<CollectedHit> {
		const { directory, writer, budget, now, onHit } = this.#options;
		const { aid } = (sent ?? {}) as { aid?: unknown };
		const account = typeof aid === 'string' ? directory.account(aid) : undefined;
		if (account) allowOrigins(request, reply, account.origins);
		const { body: read, ignored: wrong } = readHit(sent);
		if (!account) throw new ApiError('invalid_account', { detail: `There is no account ${read.aid}.` });
		if (!isAllowedOrigin(request, account.origins)) {
			// So that the tag can say why.
			allowAllOrigins(reply);
			throw new ApiError('forbidden');
		}
		const atMs = now();
		const { hit: body, unproven, problems } = believedIds(read, account, atMs);
		const ignored = problems.length > 0 ? [wrong ?? [], problems].flat().join('; ') : wrong;
		// Published tags send neither field. They cannot read a cookie with a date, and their visitors would be new each time.
		const readsDates = request.method === 'GET' || body.seed !== undefined || body.cookieDomain !== undefined;
		const party = readsDates ? partyOf(request) : undefined;
		const keepsCookies =
			party === 'origin' || (party === 'site' && allowCredentials(request, reply, account.origins));
		const [freshVid, freshSid] = newIds();
		const userAgent = request.headers['user-agent'];
		const isIgnored = this.#ignored.has(request);
		if (isIgnored || isBot(userAgent)) {
			onHit(isIgnored ? 'ignored' : 'bot');
			reply.header('x-hit-stored', '0');
			return { account, vid: freshVid, sid: freshSid, atMs, hasCookies: false, ignored };
		}
		const cookies = keepsCookies ? readVisitorCookies(request.headers.cookie, atMs) : undefined;
		// A page without scripts knows no vid; its browser does.
		const vid = isSubject(body.vid) ? body.vid : (cookies?.vid ?? null);
		const derived = isSubject(body.seed)
			? derivedVisitor(account.visitorSecret, 'seed', body.seed)
			: undefined;
		const known = vid ?? derived?.vid;
		if (known !== undefined) this.#wait(budget.takeOfVisitor(account.aid, known));
		const hit = {
			vid,
			sid: isSubject(body.sid) ? body.sid : null,
			...(derived && { derived }),
			firstVid: isSubject(body.firstVid) ? body.firstVid : null,
			...(body.cid && { visitorSecret: account.visitorSecret }),
			freshVid,
			freshSid,
			atMs,
			body: toHitRecord(
				body,
				account.channelRules,
				deviceOf(userAgent, { mobile: headerOf(request, 'sec-ch-ua-mobile') }),
				userAgent,
				unproven,
			),
		};
		const stored = await writer.storeHit(account.id, hit).catch(storeFailed(account.aid, hitTexts));
		onHit('stored');
		if (account.isFollowed) this.#options.onVisitorChange(account.id);
		reply.header('x-hit-stored', '1');
		// Where the page has a vid and its browser no cookie, there is none to renew: it may be past its end, or have been deleted.
		const since = cookies?.since ?? (isSubject(body.vid) ? undefined : Math.floor(atMs / 1000));
		const hasCookies = cookies !== undefined && since !== undefined;
		if (hasCookies)
			reply.header(
				'set-cookie',
				visitorCookies(
					stored,
					{ ...cookies, since },
					{
						domain: body.cookieDomain || (party === 'site' ? siteOf(request) : undefined),
						isSecure: request.protocol === 'https',
					},
					atMs,
				),
			);
		return { account, ...stored, atMs, hasCookies, ignored };
	}

	/** Builds the answer to a stored hit. A part that fails is left out. */
	async answer(
		{ account, vid, sid, firstVid, atMs, hasCookies, ignored }: CollectedHit,
		request: FastifyRequest,
	): Promise<object> {
		const { reads, onLeftOut } = this.#options;
		const query = request.query as Record<string, unknown>;
		const scope: CaskScope = query.scope === 'sid' ? 'sid' : 'vid';
		const subject = { account, scope, subject: scope === 'vid' ? vid : sid };
		const wanted = included(query);
		const tells = wanted.includes('experiments') && account.tellsExperiments;
		const made = async (make: () => object | Promise<object>) => {
			try {
				return await make();
			} catch (error) {
				onLeftOut(request, account.aid, error);
				return {};
			}
		};
		return {
			vid,
			sid,
			...(firstVid !== undefined && { firstVid }),
			...(hasCookies && { hasCookies }),
			...(ignored !== undefined && { ignored }),
			...(await made(() => this.#cask(subject, atMs))),
			...(wanted.includes('scores') && (await made(async () => ({ scores: await reads.scores(subject) })))),
			...((wanted.includes('segments') || tells) &&
				(await made(async () => {
					const { segments, experiments } = await reads.segments(subject);
					return { ...(wanted.includes('segments') && { segments }), ...(tells && { experiments }) };
				}))),
		};
	}

	/** Dated at the hit: an erasure sees the hit, and so knows up to when casks must be revoked. */
	#cask(
		{ account: { aid }, scope, subject }: Subject,
		atMs: number,
	): { cask: string; caskExpiresAt: string } {
		const { signingKeys } = this.#options.directory;
		const { cask, expiresAtMs } = issueCask(signingKeys, { aid, scope, subject }, atMs);
		return { cask, caskExpiresAt: new Date(expiresAtMs).toISOString() };
	}
}

/** Reads a hit. A wrong value costs itself, not the rest. @throws ApiError where nothing is left */
function readHit(sent: unknown): { body: HitRequest; ignored: string | undefined } {
	if (hitCheck(sent)) return { body: sent, ignored: undefined };
	const isObject = typeof sent === 'object' && sent !== null && !Array.isArray(sent);
	const { hit, ignored } = isObject ? mendHit(sent) : { hit: sent, ignored: undefined };
	if (!hitCheck(hit)) throw new ApiError('invalid_hit', { detail: describeProblems(findHitProblems(sent)) });
	return { body: hit, ignored };
}

/** For cookies of a page of another origin of the site. */
function siteOf({ headers }: FastifyRequest): string | undefined {
	return commonDomain(headers.origin ?? '', headers.host ?? '');
}

const hitTexts = {
	failed: 'the store failed; the hit is not stored',
	unknown: 'outcome unknown; the hit may be stored',
};

const idBytes = 32;
/** Random bytes are drawn for many hits at once, because each draw is a costly system call. */
let drawn = Buffer.alloc(0);
let used = 0;

/** New ids of a visitor and a visit: 128 random bits each. */
function newIds(): [vid: string, sid: string] {
	if (used === drawn.length) {
		drawn = randomBytes(128 * idBytes);
		used = 0;
	}
	const hex = drawn.toString('hex', used, used + idBytes);
	used += idBytes;
	return [hex.slice(0, 32), hex.slice(32)];
}

function headerOf({ headers }: FastifyRequest, name: string): string | undefined {
	const value = headers[name];
	return typeof value === 'string' ? value : undefined;
}
