import type { TimedRows } from '../judge/level.ts';
import type { Example, FeatureRow, FeatureSet } from './features.ts';
import { hashOfText, seededRandom } from './random.ts';

const rowsPerChunk = 1 << 16;

interface Chunk {
	readonly numeric: readonly Float32Array[];
	readonly categorical: readonly Uint32Array[];
	readonly labels: Uint8Array;
	readonly atMs: Float64Array;
	readonly groups: Uint32Array;
	/** 0 if unknown. */
	readonly visits: Uint8Array;
	readonly recency: Uint8Array;
}

/**
 * Examples, stored by column and in chunks: a million of them take 4 bytes per value, and their number need not be
 * known beforehand. Each text is stored once.
 */
export class Dataset {
	readonly features: FeatureSet;
	#chunks: Chunk[] = [];
	#texts: readonly string[][];
	#codes: readonly Map<string, number>[];
	#groups = new Map<string, number>();
	#rows = 0;
	#groupCount = 0;
	#conversions = 0;

	constructor(features: FeatureSet) {
		this.features = features;
		this.#texts = features.categorical.map(() => []);
		this.#codes = features.categorical.map(() => new Map());
	}

	static from(features: FeatureSet, examples: Iterable<Example>): Dataset {
		const dataset = new Dataset(features);
		for (const example of examples) dataset.add(example);
		return dataset;
	}

	/** The same rows with the outcomes of another goal; the values are shared, not copied. */
	withLabels(labels: Uint8Array): Dataset {
		if (labels.length !== this.#rows) throw new Error(`${labels.length} labels for ${this.#rows} rows`);
		const other = new Dataset(this.features);
		other.#chunks = this.#chunks.map((chunk, index) => ({
			...chunk,
			labels: labels.subarray(index * rowsPerChunk, (index + 1) * rowsPerChunk),
		}));
		other.#texts = this.#texts;
		other.#codes = this.#codes;
		other.#groups = this.#groups;
		other.#rows = this.#rows;
		other.#groupCount = this.#groupCount;
		other.#conversions = labels.reduce((sum, label) => sum + label, 0);
		return other;
	}

	get rows(): number {
		return this.#rows;
	}

	get conversions(): number {
		return this.#conversions;
	}

	/** Appends an example. @throws Error where it does not fit the features, or has an infinite number */
	add(example: Example): void {
		const { numeric, categorical } = this.features;
		if (example.numeric.length !== numeric.length || example.categorical.length !== categorical.length)
			throw new Error(`row ${this.#rows} has not the values that the feature set names`);
		const chunk = this.#chunkForNext();
		const row = this.#rows % rowsPerChunk;
		for (const [column, { name }] of numeric.entries()) {
			const value = example.numeric[column] as number;
			if (Math.abs(value) === Infinity) throw new Error(`row ${this.#rows}: ${name} is infinite`);
			(chunk.numeric[column] as Float32Array)[row] = value;
		}
		for (const [column, text] of example.categorical.entries())
			(chunk.categorical[column] as Uint32Array)[row] = this.#codeOf(column, text);
		chunk.labels[row] = example.label;
		chunk.atMs[row] = example.atMs;
		chunk.groups[row] = this.#groupOf(example.group);
		chunk.recency[row] = example.recency ?? 0;
		chunk.visits[row] = Math.min(255, example.visits ?? 0);
		this.#conversions += example.label;
		this.#rows++;
	}

	/**
	 * The rows by time. Rows of the same time are shuffled by their content: their order of arrival means nothing, and
	 * must not decide which of them judge the others.
	 */
	inTimeOrder(seed: number): Uint32Array {
		const rows = Uint32Array.from({ length: this.#rows }, (_, row) => row);
		const atMs = this.#gather(rows, new Float64Array(rows.length), (chunk) => chunk.atMs);
		const tieBreakers = this.#tieBreakers(rows, seed);
		return rows.sort(
			(a, b) =>
				(atMs[a] as number) - (atMs[b] as number) ||
				(tieBreakers[a] as number) - (tieBreakers[b] as number) ||
				a - b,
		);
	}

	/** A random number for each row that depends on its content, and for equal rows on how many came before. */
	#tieBreakers(rows: Uint32Array, seed: number): Float64Array {
		const hashes = new Int32Array(rows.length).fill(seed);
		const mix = (row: number, value: number) => {
			hashes[row] = Math.imul((hashes[row] as number) ^ value, 0x9e3779b1) ^ ((hashes[row] as number) >>> 15);
		};
		for (let column = 0; column < this.features.numeric.length; column++) {
			const bits = new Int32Array(this.numeric(column, rows).buffer);
			for (let row = 0; row < rows.length; row++) mix(row, bits[row] as number);
		}
		for (let column = 0; column < this.features.categorical.length; column++) {
			const hashOfCode = this.texts(column).map(hashOfText);
			const codes = this.categorical(column, rows);
			for (let row = 0; row < rows.length; row++) mix(row, hashOfCode[codes[row] as number] as number);
		}
		const seen = new Map<number, number>();
		return Float64Array.from(hashes, (hash) => {
			const before = seen.get(hash) ?? 0;
			seen.set(hash, before + 1);
			return seededRandom(hash + Math.imul(before, 0x85ebca6b))();
		});
	}

	numeric(column: number, rows: Uint32Array): Float32Array {
		return this.#gather(
			rows,
			new Float32Array(rows.length),
			(chunk) => chunk.numeric[column] as Float32Array,
		);
	}

	/** The values of a categorical column as codes; `texts` has their names. */
	categorical(column: number, rows: Uint32Array): Uint32Array {
		return this.#gather(
			rows,
			new Uint32Array(rows.length),
			(chunk) => chunk.categorical[column] as Uint32Array,
		);
	}

	texts(column: number): readonly string[] {
		return this.#texts[column] as string[];
	}

	labels(rows: Uint32Array): Uint8Array {
		return this.#gather(rows, new Uint8Array(rows.length), (chunk) => chunk.labels);
	}

	atMs(rows: Uint32Array): Float64Array {
		return this.#gather(rows, new Float64Array(rows.length), (chunk) => chunk.atMs);
	}

	/** The data that sets levels. */
	timed(rows: Uint32Array): TimedRows {
		return {
			atMs: this.atMs(rows),
			labels: this.labels(rows),
			groups: this.groups(rows),
			recency: this.#gather(rows, new Uint8Array(rows.length), (chunk) => chunk.recency),
		};
	}

	/** The number of visits so far. */
	visits(rows: Uint32Array): Uint8Array {
		return this.#gather(rows, new Uint8Array(rows.length), (chunk) => chunk.visits);
	}

	groups(rows: Uint32Array): Uint32Array {
		return this.#gather(rows, new Uint32Array(rows.length), (chunk) => chunk.groups);
	}

	#gather<T extends Float32Array | Float64Array | Uint32Array | Uint8Array>(
		rows: Uint32Array,
		into: T,
		from: (chunk: Chunk) => T,
	): T {
		const sources = this.#chunks.map(from);
		for (let index = 0; index < rows.length; index++) {
			const row = rows[index] as number;
			into[index] = (sources[row >>> 16] as T)[row & (rowsPerChunk - 1)] as number;
		}
		return into;
	}

	#chunkForNext(): Chunk {
		if (this.#rows % rowsPerChunk === 0)
			this.#chunks.push({
				numeric: this.features.numeric.map(() => new Float32Array(rowsPerChunk)),
				categorical: this.features.categorical.map(() => new Uint32Array(rowsPerChunk)),
				labels: new Uint8Array(rowsPerChunk),
				atMs: new Float64Array(rowsPerChunk),
				groups: new Uint32Array(rowsPerChunk),
				visits: new Uint8Array(rowsPerChunk),
				recency: new Uint8Array(rowsPerChunk),
			});
		return this.#chunks[this.#chunks.length - 1] as Chunk;
	}

	#codeOf(column: number, text: string): number {
		const codes = this.#codes[column] as Map<string, number>;
		let code = codes.get(text);
		if (code === undefined) {
			code = codes.size;
			codes.set(text, code);
			(this.#texts[column] as string[]).push(text);
		}
		return code;
	}

	#groupOf(group: string | undefined): number {
		if (group === undefined) return this.#groupCount++;
		let id = this.#groups.get(group);
		if (id === undefined) {
			id = this.#groupCount++;
			this.#groups.set(group, id);
		}
		return id;
	}
}

/** The rows as they were added. */
export function* datasetRows(dataset: Dataset, rows: Uint32Array): Generator<FeatureRow> {
	const { features } = dataset;
	const numbers = features.numeric.map((_, column) => dataset.numeric(column, rows));
	const codes = features.categorical.map((_, column) => dataset.categorical(column, rows));
	for (let row = 0; row < rows.length; row++)
		yield {
			numeric: numbers.map((values) => values[row] as number),
			categorical: codes.map((column, index) => dataset.texts(index)[column[row] as number] as string),
		};
}
