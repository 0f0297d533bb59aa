import { asWritten, type Html, html } from '../format/html.ts';

/** What proves who somebody is, which no page repeats. Passwords have a type of their own. */
const notRepeated = /type="(hidden|password)"|name="(code|link|confirm)"/;
/** As `postgres://user:password@host`. */
const addressWithPassword = /\/\/[^/]*:[^/]*@/;

const attribute = (tag: string, name: string) => new RegExp(` ${name}="([^"]*)"`).exec(tag)?.[1];
const escaped = (text: string | null) => `${html`${asWritten(text ?? '')}`}`;

/** A page whose form is filled with what was sent, and says why that was refused. Undefined where it has no such form. */
export function withRefused(page: string, sent: URLSearchParams, problem: Html): string | undefined {
	const of = [...page.matchAll(/<form method="post".*?<\/form>/gs)].find(([form]) =>
		[...form.matchAll(/<input type="hidden"[^>]*>/g)].every(([tag]) => {
			const name = attribute(tag, 'name') as string;
			return name === 'token' || escaped(sent.get(name)) === attribute(tag, 'value');
		}),
	);
	if (!of || !sent.has('action')) return undefined;
	const [form] = of;
	const before = page.slice(0, of.index);
	const folded = before.lastIndexOf('<details');
	const isFolded = folded > before.lastIndexOf('</details>');
	return [
		isFolded
			? before.slice(0, folded) + before.slice(folded).replace(/^<details(?! open)/, '$& open')
			: before,
		filled(form, sent).replace(/(?<=^<form [^>]*>)/, () => `\n${problem}`),
		page.slice(of.index + form.length),
	].join('');
}

function filled(form: string, sent: URLSearchParams): string {
	return form
		.replaceAll(/<input[^>]*>/g, (tag) => {
			const name = attribute(tag, 'name');
			if (name === undefined || notRepeated.test(tag)) return tag;
			if (addressWithPassword.test(sent.get(name) ?? '')) return tag;
			if (attribute(tag, 'type') !== 'checkbox')
				return tag.replace(/ value="[^"]*"|(?=>)/, () => ` value="${escaped(sent.get(name))}"`);
			const isChecked = sent
				.getAll(name)
				.some((value) => escaped(value) === (attribute(tag, 'value') ?? 'on'));
			return tag.replace(/ checked|(?=>)/, isChecked ? ' checked' : '');
		})
		.replaceAll(
			/(<textarea[^>]* name="([^"]*)"[^>]*>)[^<]*/g,
			(_, tag, name) => tag + escaped(sent.get(name)),
		)
		.replaceAll(/<select name="([^"]*)">.*?<\/select>/gs, (all, name) =>
			all.replaceAll(/<option( value="([^"]*)")?(?: selected)?>([^<]*)/g, (_, given = '', value, text) => {
				const isChosen = escaped(sent.get(name)) === (value ?? text);
				return `<option${given}${isChosen ? ' selected' : ''}>${text}`;
			}),
		);
}
