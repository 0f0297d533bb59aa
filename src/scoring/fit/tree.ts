import type { EncodedRows } from './encoding.ts';

const maxLeaves = 15;
const minRowsInLeaf = 20;
/** Shrinks the values of small leaves. */
const leafPenalty = 1;

/**
 * A tree as arrays with an entry for each node; node 0 is the root. A row goes left if its fine bin of `column` is at
 * most `bin`, so a missing value, bin 0, goes left. `column` is -1 in a leaf, and `value` is what the leaf adds.
 */
export interface Tree {
	readonly column: number[];
	readonly bin: number[];
	readonly left: number[];
	readonly right: number[];
	readonly value: number[];
}

interface Split {
	readonly gain: number;
	readonly column: number;
	readonly bin: number;
}

interface Leaf {
	readonly node: number;
	readonly rows: Uint32Array;
	/** For each column and bin: the sum of gradients, the sum of curvatures, the number of rows. */
	readonly sums: Float64Array;
	readonly split: Split | undefined;
}

/** Grows a tree from the sampled rows and columns, splitting the leaf with the largest gain first. */
export function growTree(
	encoded: EncodedRows,
	rows: Uint32Array,
	columns: Uint32Array,
	gradients: Float64Array,
	curvatures: Float64Array,
	learningRate: number,
): Tree {
	const tree: Tree = { column: [], bin: [], left: [], right: [], value: [] };
	const addLeaf = (leafRows: Uint32Array, sums: Float64Array): Leaf => {
		let gradient = 0;
		let curvature = 0;
		for (const row of leafRows) {
			gradient += gradients[row] as number;
			curvature += curvatures[row] as number;
		}
		const node = tree.column.push(-1) - 1;
		tree.bin.push(0);
		tree.left.push(0);
		tree.right.push(0);
		tree.value.push((-learningRate * gradient) / (curvature + leafPenalty));
		return { node, rows: leafRows, sums, split: bestSplit(sums, columns, encoded.binCounts) };
	};
	let leaves = [addLeaf(rows, sumsOf(encoded, rows, columns, gradients, curvatures))];
	for (let count = 1; count < maxLeaves; count++) {
		const open = leaves.filter(({ split }) => split !== undefined);
		if (open.length === 0) break;
		const leaf = open.reduce((best, other) =>
			(other.split as Split).gain > (best.split as Split).gain ? other : best,
		);
		const { column, bin } = leaf.split as Split;
		const [left, right] = partition(leaf.rows, encoded.bins[column] as Uint8Array, bin);
		// Only the smaller side is summed; the other is the difference from the parent, whose sums are needed no more.
		const smaller = sumsOf(
			encoded,
			left.length < right.length ? left : right,
			columns,
			gradients,
			curvatures,
		);
		const larger = subtract(leaf.sums, smaller);
		const [leftSums, rightSums] = left.length < right.length ? [smaller, larger] : [larger, smaller];
		const leftLeaf = addLeaf(left, leftSums);
		const rightLeaf = addLeaf(right, rightSums);
		tree.column[leaf.node] = column;
		tree.bin[leaf.node] = bin;
		tree.left[leaf.node] = leftLeaf.node;
		tree.right[leaf.node] = rightLeaf.node;
		leaves = [...leaves.filter((other) => other !== leaf), leftLeaf, rightLeaf];
	}
	return tree;
}

/** Subtracts `b` from `a`, in place. */
function subtract(a: Float64Array, b: Float64Array): Float64Array {
	for (let index = 0; index < a.length; index++) (a[index] as number) -= b[index] as number;
	return a;
}

/** Splits rows, keeping their order. */
function partition(rows: Uint32Array, bins: Uint8Array, bin: number): [Uint32Array, Uint32Array] {
	const left = new Uint32Array(rows.length);
	const right = new Uint32Array(rows.length);
	let [lefts, rights] = [0, 0];
	for (let index = 0; index < rows.length; index++) {
		const row = rows[index] as number;
		if ((bins[row] as number) <= bin) left[lefts++] = row;
		else right[rights++] = row;
	}
	return [left.slice(0, lefts), right.slice(0, rights)];
}

function sumsOf(
	encoded: EncodedRows,
	rows: Uint32Array,
	columns: Uint32Array,
	gradients: Float64Array,
	curvatures: Float64Array,
): Float64Array {
	const bins = columns.reduce((sum, column) => sum + (encoded.binCounts[column] as number), 0);
	const sums = new Float64Array(3 * bins);
	// Gathered once, because every column reads them in this order.
	const g = new Float64Array(rows.length);
	const h = new Float64Array(rows.length);
	for (let index = 0; index < rows.length; index++) {
		g[index] = gradients[rows[index] as number] as number;
		h[index] = curvatures[rows[index] as number] as number;
	}
	let start = 0;
	for (const column of columns) {
		const bins = encoded.bins[column] as Uint8Array;
		for (let index = 0; index < rows.length; index++) {
			const at = start + 3 * (bins[rows[index] as number] as number);
			(sums[at] as number) += g[index] as number;
			(sums[at + 1] as number) += h[index] as number;
			(sums[at + 2] as number)++;
		}
		start += 3 * (encoded.binCounts[column] as number);
	}
	return sums;
}

function bestSplit(
	sums: Float64Array,
	columns: Uint32Array,
	binCounts: readonly number[],
): Split | undefined {
	let best: Split | undefined;
	let end = 0;
	for (const column of columns) {
		const binCount = binCounts[column] as number;
		const start = end;
		end += 3 * binCount;
		let [gradient, curvature, rows] = [0, 0, 0];
		for (let at = start; at < end; at += 3) {
			gradient += sums[at] as number;
			curvature += sums[at + 1] as number;
			rows += sums[at + 2] as number;
		}
		const whole = gradient ** 2 / (curvature + leafPenalty);
		let [leftGradient, leftCurvature, leftRows] = [0, 0, 0];
		for (let bin = 0; bin + 1 < binCount; bin++) {
			const at = start + 3 * bin;
			const inBin = sums[at + 2] as number;
			if (inBin === 0) continue;
			leftGradient += sums[at] as number;
			leftCurvature += sums[at + 1] as number;
			leftRows += inBin;
			if (leftRows < minRowsInLeaf) continue;
			if (rows - leftRows < minRowsInLeaf) break;
			const gain =
				leftGradient ** 2 / (leftCurvature + leafPenalty) +
				(gradient - leftGradient) ** 2 / (curvature - leftCurvature + leafPenalty) -
				whole;
			if (gain > (best?.gain ?? 1e-9)) best = { gain, column, bin };
		}
	}
	return best;
}

/** Adds the tree's value of every row to `into`. */
export function treeValues(tree: Tree, encoded: EncodedRows, into: Float64Array): void {
	const column = Int32Array.from(tree.column);
	const bin = Int32Array.from(tree.bin);
	const left = Int32Array.from(tree.left);
	const right = Int32Array.from(tree.right);
	const value = Float64Array.from(tree.value);
	for (let row = 0; row < into.length; row++) {
		let node = 0;
		for (let at = column[0] as number; at >= 0; at = column[node] as number)
			node = (
				((encoded.bins[at] as Uint8Array)[row] as number) <= (bin[node] as number) ? left[node] : right[node]
			) as number;
		(into[row] as number) += value[node] as number;
	}
}
