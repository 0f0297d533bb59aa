const sign = '([-+−]?)';
const amount = new RegExp(`^${sign}\\s*£?\\s*${sign}(\\d{1,3}(?:,\\d{3})+|\\d*)(?:\\.(\\d{1,2})0*)?$`, 'u');

/**
 * Converts pounds, such as `4.99`, `£5` or `-1,234.50`, to pence, without rounding.
 * @returns null if it is no amount of whole pence
 */
export function penceOf(value: unknown): number | null {
	if (typeof value !== 'string' && typeof value !== 'number') return null;
	const [, before = '', after = '', pounds = '', pence = ''] = amount.exec(String(value).trim()) ?? [];
	if (pounds + pence === '' || (before !== '' && after !== '')) return null;
	const total = Number(pounds.replaceAll(',', '') + pence.padEnd(2, '0'));
	if (!Number.isSafeInteger(total)) return null;
	return /[-−]/.test(before + after) ? 0 - total : total;
}
