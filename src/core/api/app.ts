import type { FastifyInstance } from 'fastify';
import { Admission } from '../access/admission.ts';
import { Authorizer } from '../access/authorizer.ts';
import type { AccessDirectory } from '../access/directory.ts';
import type { Quota } from '../access/quota.ts';
import { LocalRateLimiter, SharedRateLimiter } from '../access/rate-limit.ts';
import type { RequestCounter } from '../access/request-counter.ts';
import { monotonicMs } from '../clock.ts';
import { type BudgetLimits, HitBudget } from '../collect/hit-budget.ts';
import { isProxyOf, type ProxyProblem, proxyProblems } from '../domain/client-address.ts';
import type { Proxies } from '../domain/proxies.ts';
import { type ServerRole, serverRoles } from '../domain/server-role.ts';
import { createFramework, type FrameworkOptions } from '../http/framework.ts';
import { openapi } from '../http/openapi.ts';
import type { Metrics } from '../metrics.ts';
import type { VisitorScorer } from '../scoring/serve/visitor-scorer.ts';
import { VisitorReads } from '../segments/visitor-reads.ts';
import type { Schemas } from '../store/migrations.ts';
import type { RequestWriter, ServingReader } from '../store/serving.ts';
import { docs } from './docs.ts';
import { health } from './health.ts';
import { hit } from './hit.ts';
import { hitGif } from './hit-gif.ts';
import { HitHandler } from './hit-handler.ts';
import { observeRequests } from './observe-requests.ts';
import { root } from './root.ts';
import { securityText } from './security-text.ts';
import { segments } from './segments.ts';
import type { ServingPart } from './serving-part.ts';
import { type SitePaths, sitePaths } from './site-paths.ts';
import { subscription, type UploadResult } from './subscription.ts';
import { tag, tagVersions } from './tag.ts';
import { visscores } from './visscores.ts';

export interface AppOptions
	extends SitePaths,
		Pick<FrameworkOptions, 'tls' | 'keepAliveMs' | 'log' | 'isDraining'> {
	readonly directory: AccessDirectory;
	readonly quota: Quota;
	readonly writer: RequestWriter;
	readonly reader: ServingReader;
	readonly scorer: VisitorScorer;
	/** Records what is counted of requests. It is stopped with the service. */
	readonly counter: RequestCounter;
	/** What capabilities add. */
	readonly parts?: readonly ServingPart[];
	/** The server's roles; all by default. */
	readonly roles?: readonly ServerRole[] | undefined;
	readonly hitLimits?: BudgetLimits;
	readonly metrics: Metrics;
	/** Milliseconds since 1970. */
	readonly now: () => number;
	readonly schemas: Schemas;
	/** Whom to tell of a weakness, a URI; nobody by default. */
	readonly securityContact?: string | undefined;
	/** Whether to serve the demo shop. */
	readonly demo?: boolean | undefined;
	/** Path prefix of all operations, for example `/api/staging`. */
	readonly prefix?: string;
	/** Proxies whose `x-forwarded-…` headers are trusted; none by default. */
	readonly proxies?: Proxies | undefined;
	/** Whether hits from an address are not stored. */
	readonly isIgnored?: ((address: string | undefined) => boolean) | undefined;
}

/** Generous for an office behind one address, and for a page that sends many events. */
export const defaultHitLimits: BudgetLimits = { perAddress: 50, perVisitor: 5 };

/** Builds the HTTP service. It does not listen. @throws OperatorError if a path that the operator chose is taken */
export async function buildApp(options: AppOptions): Promise<FastifyInstance> {
	const { directory, quota, writer, reader, scorer, counter, metrics, log, now, prefix = '' } = options;
	const { roles = serverRoles, hitLimits = defaultHitLimits, parts = [] } = options;
	const followers = parts.flatMap(({ onVisitorChange }) => onVisitorChange ?? []);
	const onVisitorChange = (accountId: number) => {
		for (const tell of followers) tell(accountId);
	};
	const isProxy = options.proxies === undefined ? undefined : isProxyOf(options.proxies);
	const { app, routes } = createFramework({
		...options,
		isProxy,
		onAnswered: (status) => metrics.answered('none', status, 0),
		inOneGo: (handleAll) => reader.inOneState(handleAll),
	});
	const observed = observeRequests(app, options);
	app.addHook('onClose', () => counter.stop());
	const onUpload = (requestId: string, result: UploadResult) => {
		observed.onUpload(requestId, result);
		const account = result.simulate ? undefined : directory.account(result.aid);
		if (account?.isFollowed) onVisitorChange(account.id);
	};
	const admission = new Admission({
		directory,
		counter,
		rate: writer.tokens
			? new SharedRateLimiter(writer.tokens, monotonicMs)
			: new LocalRateLimiter(monotonicMs),
		own: new LocalRateLimiter(monotonicMs),
		quota,
		now,
		onRefusal: (kind) => metrics.refusals.inc({ kind }),
	});
	const authorizer = new Authorizer(directory, now);
	const reads = new VisitorReads(reader, scorer, now, Object.assign({}, ...parts.map(({ hooks }) => hooks)));
	const budget = new HitBudget(hitLimits, monotonicMs);
	const probes = {
		isDraining: options.isDraining,
		probe: () => writer.probe(),
		monotonicMs,
		queueDepth: () => writer.queueDepth,
		schemas: options.schemas,
		startedAtMs: now(),
	};
	openapi(app, prefix);
	await app.register(
		async (operations) => {
			const guard = { admission, onTimeout: observed.onTimeout };
			if (roles.includes('api')) {
				subscription(operations, { ...guard, directory, writer, now, onUpload });
				visscores(operations, { authorizer, reads, now });
				segments(operations, { authorizer, reads, now });
			}
			for (const { operations: add } of parts) await add?.(operations, guard);
			health(operations, probes);
			root(operations, options.demo === true);
			docs(operations);
			if (roles.includes('collect')) {
				const onHit = (kind: string) => metrics.hits.inc({ kind });
				const onProxyProblem = (problem: ProxyProblem) => log.warn({}, proxyProblems[problem]);
				const { isIgnored = () => false } = options;
				const { onLeftOut } = observed;
				const sinks = { onHit, onVisitorChange, onLeftOut, onProxyProblem, isIgnored };
				const handler = new HitHandler({ directory, writer, reads, budget, isProxy, now, ...sinks });
				hit(operations, handler);
				hitGif(operations, handler);
				tag(operations);
				tagVersions(operations);
				sitePaths(operations, handler, routes, options);
			}
		},
		{ prefix },
	);
	// Its path is the same on every site.
	if (options.securityContact !== undefined) securityText(app, options.securityContact, now);
	// Supervisors ask the process directly, without the prefix.
	if (prefix) health(app, probes);
	await app.ready();
	return app;
}
