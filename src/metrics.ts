import cluster from 'node:cluster';
import { createServer, type Server } from 'node:http';
import { AggregatorRegistry, Counter, collectDefaultMetrics, Gauge, Histogram, Registry } from 'prom-client';

/** Everything that is measured of a running server, in Prometheus' terms. Labels hold nothing that a client sent. */
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
		help: 'From the arrival of a request to the end of its answer.',
		labelNames: ['operation'],
		buckets: [0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10],
		registers: [this.#registry],
	});
	/** By operation and status; finding a series by its labels costs more than counting. */
	readonly #answered = new Map<string, { count: Counter.Internal; seconds: Histogram.Internal<string> }>();
	readonly eventsStored = new Counter({
		name: 'caskade_events_stored_total',
		help: 'Subscription events stored.',
		registers: [this.#registry],
	});
	readonly eventsDuplicate = new Counter({
		name: 'caskade_events_duplicate_total',
		help: 'Subscription events not stored, because their tid was.',
		registers: [this.#registry],
	});
	readonly eventsConflicting = new Counter({
		name: 'caskade_events_conflicting_total',
		help: 'Duplicates whose content differs from what is stored.',
		registers: [this.#registry],
	});
	readonly hits = new Counter({
		name: 'caskade_hits_total',
		help: 'Hits by what became of them: stored, of a bot, or over a budget.',
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
		help: 'Groups of writes that failed.',
		registers: [this.#registry],
	});
	readonly #commitSeconds = new Histogram({
		name: 'caskade_store_commit_duration_seconds',
		help: 'From the beginning of a group of writes to its durable commit.',
		buckets: [0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5],
		registers: [this.#registry],
	});
	readonly #groupSize = new Histogram({
		name: 'caskade_store_group_size',
		help: 'Requests committed together.',
		buckets: [1, 2, 4, 8, 16, 32, 64, 128, 256],
		registers: [this.#registry],
	});

	constructor() {
		collectDefaultMetrics({ register: this.#registry });
		if (cluster.isWorker) this.#answerPrimary();
	}

	/** In one of several processes: gives the numbers to the primary, where one scrape finds those of all. */
	#answerPrimary(): void {
		AggregatorRegistry.setRegistries([this.#registry]);
		// Its making is what begins to listen for the primary's question.
		new AggregatorRegistry();
	}

	/** @param depth tells how many requests wait for the store */
	watchQueue(depth: () => number): void {
		new Gauge({
			name: 'caskade_store_queue_depth',
			help: 'Requests that wait for the store.',
			registers: [this.#registry],
			collect() {
				this.set(depth());
			},
		});
	}

	/** @param count tells how much waits for the background */
	watchFolding(count: () => number): void {
		new Gauge({
			name: 'caskade_folding_waiting',
			help: 'Profiles and tasks that wait to be brought up to date in the background.',
			registers: [this.#registry],
			collect() {
				this.set(count());
			},
		});
	}

	answered(operation: string, status: number, seconds: number): void {
		const name = `${operation} ${status}`;
		let series = this.#answered.get(name);
		if (!series) {
			series = {
				count: this.#requests.labels(operation, String(status)),
				seconds: this.#requestSeconds.labels(operation),
			};
			this.#answered.set(name, series);
		}
		series.count.inc();
		series.seconds.observe(seconds);
	}

	committed(group: { size: number; seconds: number }): void {
		this.#groupSize.observe(group.size);
		this.#commitSeconds.observe(group.seconds);
	}

	text(): Promise<string> {
		return this.#registry.metrics();
	}

	listen(host: string, port: number): Promise<Server> {
		return serveMetrics(host, port, this.#registry.contentType, () => this.text());
	}
}

/** The sums over all processes that share the port, asked of each when they are wanted; for the primary. */
export function serveSharedMetrics(host: string, port: number): Promise<Server> {
	const registry = new AggregatorRegistry();
	return serveMetrics(host, port, registry.contentType, () => registry.clusterMetrics());
}

/** Serves `GET /metrics` on a port of its own, which need not be reachable from where clients are. */
async function serveMetrics(
	host: string,
	port: number,
	contentType: string,
	text: () => Promise<string>,
): Promise<Server> {
	const server = createServer((request, response) => {
		if (request.method !== 'GET' || request.url !== '/metrics') {
			response.writeHead(404).end();
			return;
		}
		text().then(
			(metrics) => response.writeHead(200, { 'content-type': contentType }).end(metrics),
			// A process has ended while it was asked.
			() => response.writeHead(503).end(),
		);
	});
	await new Promise<void>((resolve, reject) => {
		server.once('error', reject);
		server.listen(port, host, resolve);
	});
	return server;
}
