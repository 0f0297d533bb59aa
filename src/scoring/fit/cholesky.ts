/**
 * Replaces the lower triangle of a symmetric positive definite n × n matrix A, stored by rows, with its Cholesky
 * factor.
 * @returns whether A is positive definite; if not, the triangle is invalid
 */
export function factorise(a: Float64Array, n: number): boolean {
	for (let first = 0; first < n; first += 4) {
		let column = 0;
		if (first + 4 <= n) for (; column < first; column += 2) fourRows(a, n, first, column);
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
 * Two columns of four rows: each value that is read serves two or four sums, and the additions are independent.
 * @param column even and below `first`
 */
function fourRows(a: Float64Array, n: number, first: number, column: number): void {
	const [at, nextAt] = [column * n, (column + 1) * n];
	const [row0, row1, row2, row3] = [first * n, (first + 1) * n, (first + 2) * n, (first + 3) * n];
	let s0 = a[row0 + column] as number;
	let s1 = a[row1 + column] as number;
	let s2 = a[row2 + column] as number;
	let s3 = a[row3 + column] as number;
	let t0 = a[row0 + column + 1] as number;
	let t1 = a[row1 + column + 1] as number;
	let t2 = a[row2 + column + 1] as number;
	let t3 = a[row3 + column + 1] as number;
	for (let k = 0; k < column; k++) {
		const value = a[at + k] as number;
		const nextValue = a[nextAt + k] as number;
		const v0 = a[row0 + k] as number;
		const v1 = a[row1 + k] as number;
		const v2 = a[row2 + k] as number;
		const v3 = a[row3 + k] as number;
		s0 -= v0 * value;
		t0 -= v0 * nextValue;
		s1 -= v1 * value;
		t1 -= v1 * nextValue;
		s2 -= v2 * value;
		t2 -= v2 * nextValue;
		s3 -= v3 * value;
		t3 -= v3 * nextValue;
	}
	const diagonal = a[at + column] as number;
	const below = a[nextAt + column] as number;
	const nextDiagonal = a[nextAt + column + 1] as number;
	s0 /= diagonal;
	s1 /= diagonal;
	s2 /= diagonal;
	s3 /= diagonal;
	a[row0 + column] = s0;
	a[row1 + column] = s1;
	a[row2 + column] = s2;
	a[row3 + column] = s3;
	a[row0 + column + 1] = (t0 - s0 * below) / nextDiagonal;
	a[row1 + column + 1] = (t1 - s1 * below) / nextDiagonal;
	a[row2 + column + 1] = (t2 - s2 * below) / nextDiagonal;
	a[row3 + column + 1] = (t3 - s3 * below) / nextDiagonal;
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
