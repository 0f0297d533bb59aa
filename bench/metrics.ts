/** The samples of one `GET /metrics`. */
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

	/** Sum over the labels that hold `label`. */
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

	get waiting(): number {
		return this.sum('caskade_store_queue_depth');
	}
}

/** The metrics once nothing waits for the store any more. */
export async function quietMetrics(url: string): Promise<MetricsSample> {
	for (;;) {
		await new Promise((resolve) => setTimeout(resolve, 100));
		const sample = await MetricsSample.read(url);
		if (sample.waiting === 0) return sample;
	}
}
