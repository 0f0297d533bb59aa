import { withoutHidden } from './hidden-characters.ts';

/** Markup. Only `html` makes it, so that a text which somebody has sent is never taken for it. */
class Markup {
	readonly #text: string;

	constructor(text: string) {
		this.#text = text;
	}

	toString(): string {
		return this.#text;
	}
}
export type Html = Markup;

/** What may stand in markup. Nothing is shown for null, undefined and false; lists are joined. */
export type HtmlValue = Html | string | number | null | undefined | false | readonly HtmlValue[];

/**
 * Markup as a tagged template: values that are not markup are escaped. Escaping suits texts and quoted attributes, not
 * scripts, styles, or addresses, whose scheme must be known.
 */
export function html(texts: TemplateStringsArray, ...values: readonly HtmlValue[]): Html {
	const parts = texts.map((part, place) => (place === 0 ? part : `${shown(values[place - 1])}${part}`));
	return new Markup(parts.join(''));
}

/** A text with its lines and tabs, for `pre` and `textarea`. */
export function asWritten(text: string): HtmlValue {
	return text.split(/([\n\t])/).map((part) => (part === '\n' ? html`\n` : part === '\t' ? html`\t` : part));
}

function shown(value: HtmlValue): string {
	if (value === null || value === undefined || value === false) return '';
	if (value instanceof Markup) return value.toString();
	return typeof value === 'object' ? value.map(shown).join('') : escaped(String(value));
}

/** Names of channels, campaigns and features come from hits, which anybody may send. */
function escaped(text: string): string {
	return withoutHidden(text).replace(/[&<>"']/g, (character) => `&#${character.charCodeAt(0)};`);
}

/**
 * One HTML page that needs nothing else: no script, no font, no network.
 * @param style CSS besides that of text, tables and warnings; it is not escaped, so it must be a constant
 */
export function htmlPage(title: string, style: string, body: HtmlValue): string {
	return html`<!doctype html>
<html lang="en"><head><meta charset="utf-8"><meta name="viewport" content="width=device-width"><title>${title}</title><style>
body{font:15px/1.5 system-ui,sans-serif;max-width:60rem;margin:2rem auto;padding:0 1rem;color:#222}
table{border-collapse:collapse}td,th{padding:.2rem 1rem .2rem 0;text-align:left;font-variant-numeric:tabular-nums}
.warning{background:#fff3cd;padding:.5rem 1rem}
${new Markup(style)}
</style></head><body>
${body}
</body></html>
`.toString();
}
