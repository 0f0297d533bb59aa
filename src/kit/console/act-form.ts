import { OperatorError } from '../../core/errors.ts';
import {
	type Act,
	type ActAccount,
	type ActPlace,
	type AnyAct,
	type Field,
	type Fields,
	formLabelOf,
	type GivenFields,
	isYes,
	parserOf,
	takesMany,
} from '../act.ts';
import { capitalised } from '../format/capitalised.ts';
import { type Html, html } from '../format/html.ts';
import { day } from '../format/values.ts';
import type { ConsoleAnswer } from './exchange.ts';
import { boxesField, checkField, choiceField, fieldOf, linesField, linesOf, textField } from './form.ts';
import type { AccountRequest, Action, Once, Question } from './page.ts';
import { nameOf } from './page-table.ts';

/** What fields show, by their names: texts, lines, whether a box is ticked. */
type Values = Readonly<Record<string, unknown>>;

/** The fields of an act's form. @param form tells apart the forms of a page that have a field of that name */
export function actFields(takes: Fields, values: Values = {}, form?: string): Html {
	return html`${Object.entries(takes).map(([name, field]) => {
		const label = formLabelOf(name, field);
		const {
			text,
			hint = capitalised(text),
			choices,
			someOf,
			suggestions,
			usual = '',
			isOptional = false,
			negation,
		} = field;
		const value = values[name];
		if (label === undefined) return null;
		if (isYes(field)) return checkField(name, label, value === true);
		if (takesMany(field)) return linesField(name, label, Array.isArray(value) ? value : [], hint, form);
		if (someOf) return boxesField(name, label, someOf, Array.isArray(value) ? value : [], field.meanings);
		const shown = typeof value === 'string' ? value : usual;
		if (choices) return choiceField(name, label, choices, { chosen: shown, hint: field.hint });
		// What there is can be changed, but not taken away.
		const isRequired = !isOptional || (shown !== '' && !negation);
		return textField(name, label, shown, {
			isRequired,
			hint,
			suggestions,
			isDay: field.parse === day,
		});
	})}`;
}

/** What a form says of an act. @throws OperatorError that names the field */
export function actGiven<Of extends Fields>(takes: Of, form: URLSearchParams): GivenFields<Of> {
	return Object.fromEntries(
		Object.entries(takes).map(([name, field]) => [name, readField(name, field, form)]),
	) as GivenFields<Of>;
}

function readField(name: string, field: Field, form: URLSearchParams): unknown {
	const label = formLabelOf(name, field) ?? name;
	const { isOptional, negation, someOf } = field;
	const parse = parserOf(field);
	if (isYes(field)) return form.has(name);
	if (takesMany(field)) {
		const values = linesOf(form, name, label, parse);
		if (values.length === 0 && isOptional) return negation && null;
		if (values.length === 0) throw new OperatorError(`${label}: Name at least one, each on a line.`);
		return [...new Set(values)];
	}
	if (someOf) form.set(name, form.getAll(name).join(','));
	if (isOptional && !form.get(name)?.trim()) return negation && null;
	return fieldOf(form, name, label, parse);
}

/** A message about flags, in the words of a form. */
export function withLabels(takes: Fields, message: string): string {
	return message.replaceAll(/--[a-z-]+/g, (flag) => {
		const [name, field] = Object.entries(takes).find(([, one]) => one.flag.split(' ')[0] === flag) ?? [];
		return name === undefined || !field ? flag : `“${formLabelOf(name, field) ?? name}”`;
	});
}

/** What a form of a page does. @param then where it leads to, or what it shows once */
export function doing<Of extends Fields, Result>(
	of: Act<Of, Result>,
	then?: (asked: AccountRequest, result: Result) => Once | ConsoleAnswer | undefined,
): Action<AccountRequest> {
	return acting(of, async (asked: AccountRequest) => {
		const result = await asked.act(of, actGiven(of.takes, asked.form));
		return then?.(asked, result);
	});
}

/** An action that does an act in its own way, or another act that takes no more. */
export function acting<Of>(of: AnyAct, run: Action<Of>): Action<Of> {
	return Object.assign(run, { of });
}

/** What is asked before an act that cannot be undone. */
export function warningOf(of: AnyAct, given: (asked: AccountRequest) => Promise<Record<string, unknown>>) {
	return async (asked: AccountRequest) => questionOf(of, asked, await given(asked));
}

/** What is asked before an act that is about something else than the page. */
export async function questionOf(
	of: AnyAct,
	place: ActPlace<ActAccount | undefined>,
	given: Record<string, unknown>,
): Promise<Question | undefined> {
	const warning = await of.warning?.(place, given);
	if (!warning) return undefined;
	const { what, named, name } = warning;
	const [before, ...after] = named === undefined ? [what] : what.split(named);
	const text = html`${before}${after.map((part) => [nameOf(named as string), part])}`;
	return { what: html`<p class="warning">${text}</p>`, ...(name !== undefined && { name }) };
}
