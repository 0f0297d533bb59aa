import { HtmlValidate } from 'html-validate';
import { allPages } from '../../pages.ts';

/** Markup that people read; whitespace and how attributes are written are no fault. */
const validator = new HtmlValidate({
	extends: ['html-validate:recommended'],
	rules: {
		'no-inline-style': 'error',
		'void-style': 'off',
		'no-trailing-whitespace': 'off',
		'long-title': 'off',
		'no-implicit-button-type': 'off',
		'no-implicit-input-type': 'off',
		'attribute-boolean-style': 'off',
		'attribute-empty-style': 'off',
		'doctype-style': 'off',
		'prefer-native-element': 'off',
		'valid-id': ['error', { relaxed: true }],
		'require-sri': 'off',
		// Boxes of one field have one name.
		'form-dup-name': ['error', { shared: ['radio', 'checkbox', 'button', 'reset', 'submit'] }],
	},
});

/** What is wrong with the markup of a page. */
export async function faultsOf(source: string): Promise<string[]> {
	const { results } = await validator.validateString(source);
	return results
		.flatMap(({ messages }) => messages)
		.map(
			({ ruleId, message, line }) =>
				`${ruleId}: ${message} in ${source.split('\n')[line - 1]?.slice(0, 160)}`,
		);
}

/** Every page that is shown, from the console's own list, so that none that is added later is forgotten. */
export function addressesOf(account: string, parts: Readonly<Record<string, string>>): string[] {
	const shown = allPages.filter(({ path, get }) => get && !/\.json|\.csv|:file|export/.test(path));
	const paths = [
		...shown.map(({ path }) => path),
		...['goals', 'keys'].map((part) => `:aid/settings?part=${part}`),
	];
	return paths.map(
		(path) =>
			`/console/${path.replace(':aid', account).replaceAll(/:(\w+)/g, (_, name) => encodeURIComponent(parts[name] ?? 'x'))}`,
	);
}
