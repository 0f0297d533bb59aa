/** The samples of one answer to `GET /metrics`. */
export class MetricsSample {
	readonly #samples: readonly { name: string; labels: string; value: number }[];

	private constructor(samples: readonly { name: string; labels: string; value: number }[]) {
		this.#samples = samples;
	}

	static async read(url: string): Promise<MetricsSample> {
		const response = await fetch(url);
		const lines = (await response.text()).split('\n').filter((line) => line !== '' && !line.startsWith('#'));
		return new MetricsSample(
			lines.map((line) => {
				const [, name = '', labels = '', value] = /^(\w+)(?:\{(.*)\})? (\S+)/.exec(line) ?? [];
				return { name, labels, value: Number(value) };
			}),
		);
	}

	/** Sum of the samples with this name whose labels contain `label`. */
	sum(name: string, label = ''): number {
		return this.#samples
			.filter((sample) => sample.name === name && sample.labels.includes(label))
			.reduce((sum, sample) => sum + sample.value, 0);
	}

	get eventsStored(): number {
		return this.sum('caskade_events_stored_total');
	}

	get hitsStored(): number {
		return this.sum('caskade_hits_total', 'kind="stored"');
	}

	get answers(): number {
		return this.sum('caskade_http_requests_total');
	}

	answersWith(status: number): number {
		return this.sum('caskade_http_requests_total', `status="${status}"`);
	}

	get queueDepth(): number {
		return this.sum('caskade_store_queue_depth');
	}
}

/** Reads the metrics once the store's queues are empty. */
export async function idleMetrics(url: string): Promise<MetricsSample> {
	for (;;) {
		await new Promise((resolve) => setTimeout(resolve, 100));
		const sample = await MetricsSample.read(url);
		if (sample.queueDepth === 0) return sample;
	}
}
