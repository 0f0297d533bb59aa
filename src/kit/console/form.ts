import { OperatorError } from '../../core/errors.ts';
import { type Html, type HtmlValue, html } from '../format/html.ts';
import { addressOf } from './exchange.ts';
import type { PageRequest } from './page.ts';

/**
 * A form of one button.
 * @param action what a page can do with it, one of its `actions`
 * @param look `danger` where it cannot be undone
 * @param path of the page, if it is another one
 */
export function formOf(
	{ request, formToken }: PageRequest,
	action: string,
	fields: HtmlValue,
	button: string,
	{ look, path = addressOf(request) }: { look?: 'danger'; path?: string } = {},
): Html {
	return html`<form method="post" action="${path}">
${hiddenFields({ token: formToken, action })}${fields}
<button${look && html` class="${look}"`}>${button}</button>
</form>`;
}

/** Fields that nobody sees. */
export function hiddenFields(fields: Readonly<Record<string, HtmlValue>>): Html[] {
	return Object.entries(fields).map(
		([name, value]) => html`<input type="hidden" name="${name}" value="${value}">
`,
	);
}

/**
 * Reads a field of a form by the parser that the command's flag has.
 * @param label what the page calls the field
 * @throws OperatorError that names the field
 */
export function fieldOf<Value>(
	form: URLSearchParams,
	name: string,
	label: string,
	parse: (text: string) => Value,
): Value {
	return parsed(form.get(name)?.trim() ?? '', label, parse);
}

/** Reads a field that may be empty. */
export function optionalField<Value>(
	form: URLSearchParams,
	name: string,
	label: string,
	parse: (text: string) => Value,
): Value | undefined {
	return form.get(name)?.trim() ? fieldOf(form, name, label, parse) : undefined;
}

/** Reads a field with a value on each line. */
export function linesOf<Value>(
	form: URLSearchParams,
	name: string,
	label: string,
	parse: (text: string) => Value,
): Value[] {
	const lines = (form.get(name) ?? '').split('\n').map((line) => line.trim());
	return lines.filter(Boolean).map((line) => parsed(line, label, parse));
}

function parsed<Value>(text: string, label: string, parse: (text: string) => Value): Value {
	try {
		return parse(text);
	} catch (error) {
		if (!(error instanceof OperatorError)) throw error;
		const message = error.message.replace(/^(?!It must)/, ': ').replace(/^It/, '');
		throw new OperatorError(`“${label}”${message}`, { cause: error });
	}
}

interface TextLook {
	readonly isRequired?: boolean;
	readonly hint?: string | undefined;
	readonly isDay?: boolean;
	/** To choose from, or not. */
	readonly suggestions?: readonly string[] | undefined;
}

/** A field for one line of text. */
export function textField(
	name: string,
	label: string,
	value: HtmlValue,
	{ isRequired = false, hint, isDay = false, suggestions }: TextLook = {},
): Html {
	return html`<p><label>${label} <input${isDay && html` type="date"`} name="${name}" value="${value}"${isRequired && html` required`}${suggestions && html` list="${name}-names"`}></label>${hint && html` <span class="hint">${hint}</span>`}${suggestions && namesList(name, suggestions)}</p>
`;
}

/** What a field offers to choose. */
export function namesList(name: string, names: readonly string[]): Html {
	return html`<datalist id="${name}-names">${names.map((one) => html`<option value="${one}"></option>`)}</datalist>`;
}

/** A box to tick for each of some values. */
export function boxesField(
	name: string,
	label: string,
	values: readonly string[],
	chosen: readonly unknown[],
	meanings: Readonly<Record<string, string>> = {},
): Html {
	return html`<fieldset><legend>${label}</legend>${values.map((value) => html`<p><label><input type="checkbox" name="${name}" value="${value}"${chosen.includes(value) && html` checked`}> ${value}</label>${value in meanings && html` <span class="hint">${meanings[value]}</span>`}</p>`)}</fieldset>
`;
}

/** A field for a value on each line. @param form tells apart the forms of a page that have a field of that name */
export function linesField(
	name: string,
	label: string,
	lines: readonly string[],
	hint: string,
	form = 'form',
): Html {
	const id = `${form}-${name}`;
	return html`<p><label for="${id}">${label}</label> <span class="hint">${hint}</span>
<textarea id="${id}" name="${name}" rows="${Math.min(8, lines.length + 1)}">${lines.map(
		(line) => html`${line}
`,
	)}</textarea></p>
`;
}

/** A field that chooses one of some values. */
export function choiceField(
	name: string,
	label: string,
	values: readonly string[],
	{ chosen, hint }: { readonly chosen: string; readonly hint?: string | undefined },
): Html {
	return html`<p><label>${label} <select name="${name}">${values.map((value) => html`<option${value === chosen && html` selected`}>${value}</option>`)}</select></label>${hint && html` <span class="hint">${hint}</span>`}</p>
`;
}

/** A box to tick. Its field is `on` where it is. */
export function checkField(name: string, label: string, isChecked: boolean): Html {
	return html`<p><label><input type="checkbox" name="${name}"${isChecked && html` checked`}> ${label}</label></p>
`;
}
