import { withoutHidden } from './hidden-characters.ts';

const graphemes = new Intl.Segmenter('en', { granularity: 'grapheme' });
const wide =
	/^(\p{Emoji_Presentation}|\p{RI}|.\ufe0f|[\u1100-\u115f\u3000-\u303e\uff01-\uff60\uffe0-\uffe6]|\p{Script=Han}|\p{Script=Hiragana}|\p{Script=Katakana}|\p{Script=Hangul})/u;

/** How many columns a text takes on a terminal. */
export function displayWidth(text: string): number {
	// Nearly all texts are.
	if (/^[ -~]*$/.test(text)) return text.length;
	let width = 0;
	for (const { segment } of graphemes.segment(text))
		width += wide.test(segment) ? 2 : /^[\p{Mark}\p{Cf}]+$/u.test(segment) ? 0 : 1;
	return width;
}

/**
 * The lines of a table in columns of equal width.
 * @param isNumeric of each column: whether it is aligned to the right
 */
export function textTable(
	columns: readonly string[],
	rows: readonly (readonly string[])[],
	isNumeric: readonly boolean[],
): string[] {
	const lines = [columns, ...rows.map((cells) => cells.map(withoutHidden))];
	const widths = columns.map((_, place) =>
		lines.reduce((width, cells) => Math.max(width, displayWidth(cells[place] as string)), 0),
	);
	return lines.map((cells) =>
		cells
			.map((cell, place) => {
				const space = ' '.repeat((widths[place] as number) - displayWidth(cell));
				return isNumeric[place] ? space + cell : cell + space;
			})
			.join('  ')
			.trimEnd(),
	);
}
