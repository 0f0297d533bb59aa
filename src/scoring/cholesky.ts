/**
 * Replaces the lower triangle of a symmetric positive definite n × n matrix A, stored by rows, with its Cholesky
 * factor.
 * @returns whether A is positive definite; if not, the triangle is invalid
 */
export function factorise(a: Float64Array, n: number): boolean {
	for (let first = 0; first < n; first += 4) {
		let column = 0;
		if (first + 4 <= n) for (; column < first; column++) fourRows(a, n, first, column);
		for (let row = first; row < Math.min(n, first + 4); row++) {
			const rowAt = row * n;
			for (let next = column; next < row; next++) {
				const sum = (a[rowAt + next] as number) - dot(a, rowAt, next * n, next);
				a[rowAt + next] = sum / (a[next * n + next] as number);
			}
			const rest = (a[rowAt + row] as number) - dot(a, rowAt, rowAt, row);
			if (!(rest > 0)) return false;
			a[rowAt + row] = Math.sqrt(rest);
		}
	}
	return true;
}

/**
 * One column of four rows: each value read from the column's row serves all four, and the additions are independent.
 */
function fourRows(a: Float64Array, n: number, first: number, column: number): void {
	const at = column * n;
	const [row0, row1, row2, row3] = [first * n, (first + 1) * n, (first + 2) * n, (first + 3) * n];
	let s0 = a[row0 + column] as number;
	let s1 = a[row1 + column] as number;
	let s2 = a[row2 + column] as number;
	let s3 = a[row3 + column] as number;
	for (let k = 0; k < column; k++) {
		const value = a[at + k] as number;
		s0 -= (a[row0 + k] as number) * value;
		s1 -= (a[row1 + k] as number) * value;
		s2 -= (a[row2 + k] as number) * value;
		s3 -= (a[row3 + k] as number) * value;
	}
	const diagonal = a[at + column] as number;
	a[row0 + column] = s0 / diagonal;
	a[row1 + column] = s1 / diagonal;
	a[row2 + column] = s2 / diagonal;
	a[row3 + column] = s3 / diagonal;
}

function dot(a: Float64Array, from: number, other: number, length: number): number {
	let sum = 0;
	for (let k = 0; k < length; k++) sum += (a[from + k] as number) * (a[other + k] as number);
	return sum;
}

/** Solves A·x = b, given the factor of A. */
export function solveFactorised(factor: Float64Array, b: Float64Array): Float64Array {
	const n = b.length;
	const x = Float64Array.from(b);
	for (let row = 0; row < n; row++) {
		let sum = x[row] as number;
		for (let k = 0; k < row; k++) sum -= (factor[row * n + k] as number) * (x[k] as number);
		x[row] = sum / (factor[row * n + row] as number);
	}
	for (let row = n - 1; row >= 0; row--) {
		const value = (x[row] as number) / (factor[row * n + row] as number);
		x[row] = value;
		for (let k = 0; k < row; k++) (x[k] as number) -= (factor[row * n + k] as number) * value;
	}
	return x;
}
