import type { Example, FeatureRow, FeatureSet } from '../../../core/scoring/rows/features.ts';
import { hashOfText, seededRandom } from '../../../kit/random.ts';

/** Rows with known outcomes, stored by column. */
export interface Dataset {
	readonly features: FeatureSet;
	readonly rows: number;
	/** By numeric column; NaN is missing. */
	readonly numeric: readonly Float32Array[];
	/** By categorical column: positions in its `texts`. */
	readonly categorical: readonly Uint32Array[];
	readonly texts: readonly (readonly string[])[];
	/** 1 if the goal was reached. */
	readonly labels: Uint8Array;
	readonly atMs: Float64Array;
	/** The visitor of each row. */
	readonly groups: Uint32Array;
	/** The number of visits so far; 0 if unknown. */
	readonly visits: Uint8Array;
	readonly recency: Uint8Array;
	/** How many hits each row stands for, among rows after hits. */
	readonly hits: Float32Array;
}

/** The first rows have this room. It doubles. */
const firstRoom = 1024;

/** Collects rows, whose number need not be known beforehand. Each text is stored once. */
export class DatasetBuilder {
	/** Has room for more rows than there are. */
	#room: Dataset;
	#rows = 0;
	readonly #codes: readonly Map<string, number>[];
	readonly #groupNumbers = new Map<string, number>();
	#groupCount = 0;

	constructor(features: FeatureSet) {
		this.#codes = features.categorical.map(() => new Map());
		this.#room = {
			features,
			texts: [],
			rows: firstRoom,
			numeric: features.numeric.map(() => new Float32Array(firstRoom)),
			categorical: features.categorical.map(() => new Uint32Array(firstRoom)),
			labels: new Uint8Array(firstRoom),
			atMs: new Float64Array(firstRoom),
			groups: new Uint32Array(firstRoom),
			visits: new Uint8Array(firstRoom),
			recency: new Uint8Array(firstRoom),
			hits: new Float32Array(firstRoom),
		};
	}

	/** Appends an example. @throws Error where it does not fit the features, or has an infinite number */
	add({ numeric, categorical, label, atMs, group, visits = 0, recency = 0, hits = 1 }: Example): void {
		const row = this.#rows;
		if (row === this.#room.rows)
			this.#room = mapColumns(this.#room, 2 * row, (values) => sharedCopy(values, 2 * row));
		const room = this.#room;
		if (numeric.length !== room.numeric.length || categorical.length !== room.categorical.length)
			throw new Error(`row ${row} has not the values that the feature set names`);
		for (let column = 0; column < numeric.length; column++) {
			const value = numeric[column] as number;
			if (Math.abs(value) === Infinity)
				throw new Error(`row ${row}: ${room.features.numeric[column]?.name} is infinite`);
			(room.numeric[column] as Float32Array)[row] = value;
		}
		for (const [column, codes] of this.#codes.entries())
			(room.categorical[column] as Uint32Array)[row] = codes.getOrInsert(
				categorical[column] as string,
				codes.size,
			);
		room.labels[row] = label;
		room.atMs[row] = atMs;
		room.groups[row] = this.#groupOf(group);
		room.visits[row] = Math.min(255, visits);
		room.recency[row] = recency;
		room.hits[row] = hits;
		this.#rows++;
	}

	/** The rows so far. Other threads that they are sent to share their memory. */
	build(): Dataset {
		const rows = this.#rows;
		return {
			...mapColumns(this.#room, rows, (values) =>
				sharedCopy(values.subarray(0, rows) as typeof values, rows),
			),
			texts: this.#codes.map((codes) => [...codes.keys()]),
		};
	}

	#groupOf(group: string | undefined): number {
		if (group === undefined) return this.#groupCount++;
		return this.#groupNumbers.getOrInsertComputed(group, () => this.#groupCount++);
	}
}

/** The same values, with room for `length`. */
function sharedCopy<Values extends Float32Array | Float64Array | Uint32Array | Uint8Array>(
	values: Values,
	length: number,
): Values {
	const shared = new SharedArrayBuffer(length * values.BYTES_PER_ELEMENT);
	const copy = new (values.constructor as new (buffer: SharedArrayBuffer) => Values)(shared);
	copy.set(values);
	return copy;
}

export function datasetOf(features: FeatureSet, examples: Iterable<Example>): Dataset {
	const builder = new DatasetBuilder(features);
	for (const example of examples) builder.add(example);
	return builder.build();
}

/** These rows, in this order. */
export function rowsAt(dataset: Dataset, rows: Uint32Array): Dataset {
	return mapColumns(dataset, rows.length, (values) => valuesAt(values, rows));
}

/** The values of these rows. */
export function valuesAt<Values extends Float32Array | Float64Array | Uint32Array | Uint16Array | Uint8Array>(
	values: Values,
	rows: Uint32Array,
): Values {
	const taken = new (values.constructor as new (length: number) => Values)(rows.length);
	const [from, to] = [bitsOf(values), bitsOf(taken)];
	for (let row = 0; row < rows.length; row++) to[row] = from[rows[row] as number] as number;
	return taken;
}

/** One kind of array fewer: V8 compiles a loop for four kinds at most, and is ten times as slow with a fifth. */
function bitsOf(values: Float32Array | Float64Array | Uint32Array | Uint16Array | Uint8Array) {
	return values instanceof Float32Array
		? new Uint32Array(values.buffer, values.byteOffset, values.length)
		: values;
}

/** A range of rows. It shares their memory. */
export function rangeOf(dataset: Dataset, from: number, to: number): Dataset {
	return mapColumns(dataset, to - from, (values) => values.subarray(from, to) as typeof values);
}

/** Evenly spread rows, at most `max`. */
export function sampleOf(dataset: Dataset, max: number): Dataset {
	return dataset.rows <= max ? dataset : rowsAt(dataset, sampledRows(dataset.rows, max));
}

/** The places of evenly spread rows. */
export function sampledRows(rows: number, max: number): Uint32Array {
	const every = Math.max(1, rows / max);
	return Uint32Array.from({ length: Math.min(rows, max) }, (_, index) => Math.floor(index * every));
}

/** So that the rows of a visitor weigh together as one. */
export function visitorWeights(groups: Uint32Array): Float64Array {
	const rows = new Map<number, number>();
	for (const group of groups) rows.set(group, (rows.get(group) ?? 0) + 1);
	return Float64Array.from(groups, (group) => 1 / (rows.get(group) as number));
}

/** The places of rows, those of a visitor together. */
export function rowsByGroup(groups: Uint32Array): Uint32Array {
	const last = groups.reduce((largest, group) => Math.max(largest, group), 0);
	const starts = new Uint32Array(last + 2);
	for (const group of groups) (starts[group + 1] as number)++;
	for (let group = 1; group < starts.length; group++)
		(starts[group] as number) += starts[group - 1] as number;
	const places = new Uint32Array(groups.length);
	for (let row = 0; row < groups.length; row++) {
		const group = groups[row] as number;
		places[starts[group] as number] = row;
		(starts[group] as number)++;
	}
	return places;
}

function mapColumns(
	{ features, texts, numeric, categorical, labels, atMs, groups, visits, recency, hits }: Dataset,
	rows: number,
	of: <Values extends Float32Array | Float64Array | Uint32Array | Uint8Array>(values: Values) => Values,
): Dataset {
	return {
		features,
		texts,
		rows,
		numeric: numeric.map((values) => of(values)),
		categorical: categorical.map((codes) => of(codes)),
		labels: of(labels),
		atMs: of(atMs),
		groups: of(groups),
		visits: of(visits),
		recency: of(recency),
		hits: of(hits),
	};
}

/**
 * The rows by time. Rows of the same time are shuffled by their content: their order of arrival means nothing, and must
 * not decide which of them judge the others.
 */
export function inTimeOrder(dataset: Dataset, seed: number): Dataset {
	const { atMs, rows } = dataset;
	const shuffled = shuffleNumbers(dataset, seed);
	const order = Uint32Array.from({ length: rows }, (_, row) => row);
	order.sort(
		(a, b) =>
			(atMs[a] as number) - (atMs[b] as number) || (shuffled[a] as number) - (shuffled[b] as number) || a - b,
	);
	return rowsAt(dataset, order);
}

/** A random number for each row that depends on its content, and for equal rows on how many came before. */
function shuffleNumbers({ rows, numeric, categorical, texts }: Dataset, seed: number): Float64Array {
	const hashes = new Int32Array(rows).fill(seed);
	const mix = (row: number, value: number) => {
		hashes[row] = Math.imul((hashes[row] as number) ^ value, 0x9e3779b1) ^ ((hashes[row] as number) >>> 15);
	};
	for (const values of numeric) {
		const bits = new Int32Array(values.buffer, values.byteOffset, rows);
		for (let row = 0; row < rows; row++) mix(row, bits[row] as number);
	}
	for (const [column, codes] of categorical.entries()) {
		const hashOfCode = Int32Array.from(texts[column] as string[], hashOfText);
		for (let row = 0; row < rows; row++) mix(row, hashOfCode[codes[row] as number] as number);
	}
	const seen = new Map<number, number>();
	return Float64Array.from(hashes, (hash) => {
		const before = seen.get(hash) ?? 0;
		seen.set(hash, before + 1);
		return seededRandom(hash + Math.imul(before, 0x85ebca6b))();
	});
}

/** The values of each row. */
export function* featureRows({ rows, numeric, categorical, texts }: Dataset): Generator<FeatureRow> {
	for (let row = 0; row < rows; row++)
		yield {
			numeric: numeric.map((values) => values[row] as number),
			categorical: categorical.map((codes, column) => texts[column]?.[codes[row] as number] as string),
		};
}
