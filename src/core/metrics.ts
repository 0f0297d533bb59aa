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

export interface WatchedMetric {
	readonly name: string;
	readonly help: string;
	readonly label?: string;
	/** Whether it only grows. */
	readonly isCount?: boolean;
	/** Whether every process knows all of it, so that several are not summed up. */
	readonly isOfAll?: boolean;
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

	/** A metric that is read when somebody asks. @param read its value, or one for each value of its label */
	watch(
		{ name, help, label, isCount = false, isOfAll = false }: WatchedMetric,
		read: () => number | Readonly<Record<string, number>>,
	): void {
		const common = {
			name,
			help,
			registers: [this.#registry],
			labelNames: label === undefined ? [] : [label],
		};
		const set = (metric: { labels(...values: string[]): { inc(by: number): void }; reset(): void }) => {
			metric.reset();
			const value = read();
			if (typeof value === 'number') metric.labels().inc(value);
			else for (const [of, part] of Object.entries(value)) metric.labels(of).inc(part);
		};
		if (isCount)
			new Counter({
				...common,
				collect() {
					set(this);
				},
			});
		else
			new Gauge({
				...common,
				...(isOfAll && { aggregator: 'max' as const }),
				collect() {
					set(this);
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
