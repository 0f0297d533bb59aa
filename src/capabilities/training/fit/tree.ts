import type { Tree } from '../../../core/scoring/model/model.ts';
import type { EncodedRows } from './encoding.ts';

const maxLeaves = 15;
const minRowsInLeaf = 20;
/** Less is what rounding leaves. */
const minGain = 1e-9;
/** Shrinks the values of small leaves. */
const leafPenalty = 1;

interface Split {
	readonly gain: number;
	readonly column: number;
	readonly bin: number;
}

interface Leaf {
	readonly node: number;
	readonly rows: Uint32Array;
	/** For each column and bin: the sum of gradients, the sum of curvatures. */
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
		const whole = { rows: leafRows.length, gradient, curvature };
		const split = bestSplit(sums, columns, encoded.binCounts, whole);
		const node = tree.column.push(-1) - 1;
		tree.bin.push(0);
		tree.left.push(0);
		tree.right.push(0);
		tree.value.push((-learningRate * gradient) / (curvature + leafPenalty));
		return { node, rows: leafRows, sums, split };
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
	{ bins, binCounts }: EncodedRows,
	rows: Uint32Array,
	columns: Uint32Array,
	gradients: Float64Array,
	curvatures: Float64Array,
): Float64Array {
	const countOf = (column: number) => 2 * (binCounts[column] as number);
	const last = columns[columns.length - 1] as number;
	const length = columns.reduce((sum, column) => sum + countOf(column), 0);
	const sums = new Float64Array(length + countOf(last));
	// Gathered once, because every column reads them in this order.
	const [g, h] = [new Float64Array(rows.length), new Float64Array(rows.length)];
	for (let index = 0; index < rows.length; index++) {
		g[index] = gradients[rows[index] as number] as number;
		h[index] = curvatures[rows[index] as number] as number;
	}
	let start = 0;
	// Two columns at a time, because a column alone waits for the sums of its most frequent bin. If the last has no other,
	// it is summed twice, into a place that nothing reads.
	for (let place = 0; place < columns.length; place += 2) {
		const [a, b] = [columns[place] as number, columns[place + 1] ?? last];
		const [binsOfA, binsOfB] = [bins[a] as Uint8Array, bins[b] as Uint8Array];
		const middle = start + countOf(a);
		for (let index = 0; index < rows.length; index++) {
			const row = rows[index] as number;
			const atA = start + 2 * (binsOfA[row] as number);
			const atB = middle + 2 * (binsOfB[row] as number);
			(sums[atA] as number) += g[index] as number;
			(sums[atB] as number) += g[index] as number;
			(sums[atA + 1] as number) += h[index] as number;
			(sums[atB + 1] as number) += h[index] as number;
		}
		start = middle + countOf(b);
	}
	return sums;
}

/** Of a leaf with so many rows. Those on a side of a split are estimated by their curvatures, to sum less. */
function bestSplit(
	sums: Float64Array,
	columns: Uint32Array,
	binCounts: readonly number[],
	{ rows, gradient, curvature }: { rows: number; gradient: number; curvature: number },
): Split | undefined {
	let best: Split | undefined;
	let bestGain = minGain;
	let start = 0;
	const whole = gradient ** 2 / (curvature + leafPenalty);
	const minCurvature = (curvature * minRowsInLeaf) / rows;
	for (const column of columns) {
		const end = start + 2 * (binCounts[column] as number);
		let [leftGradient, leftCurvature] = [0, 0];
		for (let at = start; at + 2 < end; at += 2) {
			leftGradient += sums[at] as number;
			leftCurvature += sums[at + 1] as number;
			if (leftCurvature < minCurvature) continue;
			if (curvature - leftCurvature < minCurvature) break;
			const gain =
				leftGradient ** 2 / (leftCurvature + leafPenalty) +
				(gradient - leftGradient) ** 2 / (curvature - leftCurvature + leafPenalty) -
				whole;
			if (gain <= bestGain) continue;
			bestGain = gain;
			best = { gain, column, bin: (at - start) / 2 };
		}
		start = end;
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
