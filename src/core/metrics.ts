import cluster from 'node:cluster';
import type { Server } from 'node:http';
import { AggregatorRegistry, Counter, collectDefaultMetrics, Gauge, Histogram, Registry } from 'prom-client';
import { createServer } from './node-http.ts';

/** A metric of this process, with its labels in the name. */
export interface MeasuredFigure {
	readonly name: string;
	/** Of a histogram the number of observations. */
	readonly value: number;
	/** Of a histogram. */
	readonly mean?: number;
	/** Of a histogram: 99 of 100 are at most this, which is the end of a bucket; infinite beyond the last one. */
	readonly p99?: number;
}

type Labels = Readonly<Record<string, string | number | undefined>>;

interface HistogramValue {
	readonly metricName?: string;
	readonly labels: Labels;
	readonly value: number;
}

function named(name: string, labels: Labels): string {
	const shown = Object.entries(labels).map(([label, value]) => `${label}="${value}"`);
	return shown.length === 0 ? name : `${name}{${shown.join(',')}}`;
}

function spread(name: string, values: readonly HistogramValue[]): Omit<MeasuredFigure, 'name'> {
	const of = (end: string) => values.find(({ metricName }) => metricName === `${name}_${end}`)?.value ?? 0;
	const count = of('count');
	if (count === 0) return { value: 0 };
	const reached = values.find(({ labels, value }) => labels.le !== undefined && value >= 0.99 * count);
	return {
		value: count,
		mean: of('sum') / count,
		p99: Number(String(reached?.labels.le).replace('+Inf', 'Infinity')),
	};
}

/** Prometheus metrics of a running server. Labels never contain data from clients. */
export class Metrics {
	readonly #registry = new Registry();
	readonly #requests = new Counter({
		name: 'caskade_http_requests_total',
		help: 'Requests answered.',
		labelNames: ['operation', 'status'],
		registers: [this.#registry],
	});
	readonly #requestSeconds = new Histogram({
		name: 'caskade_http_request_duration_seconds',
		help: 'Time from the arrival of a request to the end of its answer.',
		labelNames: ['operation'],
		buckets: [0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10],
		registers: [this.#registry],
	});
	/** Series by operation and status. Looking one up by its labels costs more than counting. */
	readonly #answered = new Map<string, { count: Counter.Internal; seconds: Histogram.Internal<string> }>();
	readonly eventsStored = new Counter({
		name: 'caskade_events_stored_total',
		help: 'Subscription events stored.',
		registers: [this.#registry],
	});
	readonly eventsDuplicate = new Counter({
		name: 'caskade_events_duplicate_total',
		help: 'Subscription events that were not stored, because their tid was stored before.',
		registers: [this.#registry],
	});
	readonly eventsConflicting = new Counter({
		name: 'caskade_events_conflicting_total',
		help: 'Duplicates whose content differs from the stored event.',
		registers: [this.#registry],
	});
	readonly hits = new Counter({
		name: 'caskade_hits_total',
		help: 'Hits by outcome: stored, sent by a bot, from an ignored network, or over a budget.',
		labelNames: ['kind'],
		registers: [this.#registry],
	});
	readonly refusals = new Counter({
		name: 'caskade_refusals_total',
		help: 'Requests refused before their body was read.',
		labelNames: ['kind'],
		registers: [this.#registry],
	});
	readonly storeFailures = new Counter({
		name: 'caskade_store_failures_total',
		help: 'Group commits that failed.',
		registers: [this.#registry],
	});
	readonly #commitSeconds = new Histogram({
		name: 'caskade_store_commit_duration_seconds',
		help: 'Time from the start of a group of writes to its durable commit.',
		buckets: [0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5],
		registers: [this.#registry],
	});
	readonly #groupSize = new Histogram({
		name: 'caskade_store_group_size',
		help: 'Requests committed together.',
		buckets: [1, 2, 4, 8, 16, 32, 64, 128, 256],
		registers: [this.#registry],
	});

	/** @param options.ofThread of one of several threads: what a process has once is left out */
	constructor({ ofThread = false } = {}) {
		if (!ofThread) collectDefaultMetrics({ register: this.#registry });
		if (cluster.isWorker) this.#answerPrimary();
	}

	/** Lets a worker report its metrics to the primary, where one scrape covers all workers. */
	#answerPrimary(): void {
		AggregatorRegistry.setRegistries([this.#registry]);
		// The constructor installs the listener for the primary's requests.
		new AggregatorRegistry();
	}

	/** @param depth the number of requests that wait for the store */
	watchQueue(depth: () => number): void {
		new Gauge({
			name: 'caskade_store_queue_depth',
			help: 'Requests waiting for the store.',
			registers: [this.#registry],
			collect() {
				this.set(depth());
			},
		});
	}

	/** @param state the write-ahead logs of a data folder */
	watchLogs(state: () => { readonly longestBytes: number; readonly heldSeconds: number }): void {
		new Gauge({
			name: 'caskade_log_bytes',
			help: 'The longest write-ahead log of a database.',
			registers: [this.#registry],
			collect() {
				this.set(state().longestBytes);
			},
		});
		new Gauge({
			name: 'caskade_log_held_seconds',
			help: 'For how long a reader has kept a write-ahead log from being copied.',
			registers: [this.#registry],
			collect() {
				this.set(state().heldSeconds);
			},
		});
	}

	/** @param count the number of items that wait for the background job */
	watchFolding(count: () => number): void {
		new Gauge({
			name: 'caskade_folding_waiting',
			help: 'Profiles and tasks waiting for the background job that updates them.',
			registers: [this.#registry],
			collect() {
				this.set(count());
			},
		});
	}

	/** @param failing tells how many webhooks fail */
	watchWebhooks(
		counts: () => { readonly delivered: number; readonly failed: number; readonly disabled: number },
		failing: () => number,
	): void {
		new Counter({
			name: 'caskade_webhook_attempts_total',
			help: 'Attempts to deliver messages to webhooks, by outcome.',
			labelNames: ['outcome'],
			registers: [this.#registry],
			collect() {
				const { delivered, failed } = counts();
				this.reset();
				this.inc({ outcome: 'delivered' }, delivered);
				this.inc({ outcome: 'failed' }, failed);
			},
		});
		new Counter({
			name: 'caskade_webhooks_disabled_total',
			help: 'Webhooks that were disabled because they failed for three days or answered 410.',
			registers: [this.#registry],
			collect() {
				this.reset();
				this.inc(counts().disabled);
			},
		});
		new Gauge({
			name: 'caskade_webhooks_failing',
			help: 'Webhooks whose deliveries have all failed for over a minute.',
			registers: [this.#registry],
			// Every process knows of all webhooks.
			aggregator: 'max',
			collect() {
				this.set(failing());
			},
		});
	}

	/** @param count returns the number of goals whose rate is outside the interval around the mean score */
	watchLevels(count: () => number): void {
		new Gauge({
			name: 'caskade_score_levels_outside',
			help: 'Goals whose predicted rate of the latest known week differs significantly from the observed rate.',
			registers: [this.#registry],
			// Every process knows of all goals.
			aggregator: 'max',
			collect() {
				this.set(count());
			},
		});
	}

	/** @param count the number of goals whose served scores have left their bounds two weeks running */
	watchPromises(count: () => number): void {
		new Gauge({
			name: 'caskade_promises_broken',
			help: 'Goals whose served scores differed from what came by more than chance explains, two weeks running.',
			registers: [this.#registry],
			// One process of a machine compares them.
			aggregator: 'max',
			collect() {
				this.set(count());
			},
		});
	}

	answered(operation: string, status: number, seconds: number): void {
		const name = `${operation} ${status}`;
		const series = this.#answered.getOrInsertComputed(name, () => ({
			count: this.#requests.labels(operation, String(status)),
			seconds: this.#requestSeconds.labels(operation),
		}));
		series.count.inc();
		series.seconds.observe(seconds);
	}

	committed(group: { size: number; seconds: number }): void {
		this.#groupSize.observe(group.size);
		this.#commitSeconds.observe(group.seconds);
	}

	/** What is measured here, as `GET /metrics` calls it; of the durations and sizes their number, mean and 99th percentile. */
	async figures(): Promise<MeasuredFigure[]> {
		const metrics = (await this.#registry.getMetricsAsJSON()).filter(({ name }) =>
			name.startsWith('caskade_'),
		);
		return metrics.flatMap(({ name, type, values }) => {
			if (String(type) !== 'histogram')
				return values.map(({ labels, value }) => ({ name: named(name, labels), value }));
			const parts = Map.groupBy(values as readonly HistogramValue[], ({ labels: { le: _, ...labels } }) =>
				named(name, labels),
			);
			return [...parts].map(([part, of]) => ({ name: part, ...spread(name, of) }));
		});
	}

	text(): Promise<string> {
		return this.#registry.metrics();
	}
}

/** Serves the sums over all workers, collected on each scrape. For the primary. */
export function serveSharedMetrics(host: string, port: number): Promise<Server> {
	const registry = new AggregatorRegistry();
	return serveMetrics(host, port, () => registry.clusterMetrics());
}

/** Serves `GET /metrics` on a separate port, which clients need not be able to reach. */
export async function serveMetrics(host: string, port: number, text: () => Promise<string>): Promise<Server> {
	const server = createServer((request, response) => {
		if (request.method !== 'GET' || request.url !== '/metrics') {
			response.writeHead(404).end();
			return;
		}
		text().then(
			(metrics) => response.writeHead(200, { 'content-type': Registry.PROMETHEUS_CONTENT_TYPE }).end(metrics),
			// A worker ended during the scrape.
			() => response.writeHead(503).end(),
		);
	});
	await new Promise<void>((resolve, reject) => {
		server.once('error', reject);
		server.listen(port, host, resolve);
	});
	return server;
}
