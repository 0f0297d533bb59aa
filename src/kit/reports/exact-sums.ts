import { OperatorError } from '../../core/errors.ts';

/** Refuses amounts whose sums would not be exact, because a number holds whole ones up to this only. @throws OperatorError */
export function requireExactSums(amountsPence: Iterable<number>): void {
	let sum = 0;
	for (const pence of amountsPence) sum += Math.abs(pence);
	if (sum > Number.MAX_SAFE_INTEGER)
		throw new OperatorError(
			`The amounts of this report come to more than ${Number.MAX_SAFE_INTEGER} pence, beyond which sums are not exact. Choose a shorter period.`,
		);
}
