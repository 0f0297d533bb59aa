/** Control characters, and those that turn the direction of what follows. */
export const hidden = /[\p{Cc}\u061c\u200e\u200f\u2028\u2029\u202a-\u202e\u2066-\u2069\ufeff]/gu;

/** A text in which hidden characters are written as escapes, so that they do not move or rewrite what is around them. */
export function withoutHidden(text: string): string {
	return text.replace(
		hidden,
		(character) => `\\u${(character.codePointAt(0) as number).toString(16).padStart(4, '0')}`,
	);
}
