/**
 * Solves A·x = b for a symmetric positive definite A of n × n numbers, row by row, of which the lower triangle is read.
 * Overwrites that triangle with its Cholesky factor. `undefined` where A is not positive definite.
 */
export function solvePositiveDefinite(a: Float64Array, b: Float64Array): Float64Array | undefined {
	const n = b.length;
	for (let row = 0; row < n; row++)
		for (let column = 0; column <= row; column++) {
			let sum = a[row * n + column] as number;
			for (let k = 0; k < column; k++) sum -= (a[row * n + k] as number) * (a[column * n + k] as number);
			if (row === column) {
				if (!(sum > 0)) return undefined;
				a[row * n + row] = Math.sqrt(sum);
			} else a[row * n + column] = sum / (a[column * n + column] as number);
		}
	const x = Float64Array.from(b);
	for (let row = 0; row < n; row++) {
		let sum = x[row] as number;
		for (let k = 0; k < row; k++) sum -= (a[row * n + k] as number) * (x[k] as number);
		x[row] = sum / (a[row * n + row] as number);
	}
	for (let row = n - 1; row >= 0; row--) {
		let sum = x[row] as number;
		for (let k = row + 1; k < n; k++) sum -= (a[k * n + row] as number) * (x[k] as number);
		x[row] = sum / (a[row * n + row] as number);
	}
	return x;
}
