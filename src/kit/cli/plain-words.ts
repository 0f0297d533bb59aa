import { type Command, Help, type Option } from 'commander';

/** Help in which lines that begin with a space are kept: examples can be pasted, and what is long in a list stays in its column. */
class PlainHelp extends Help {
	override boxWrap(text: string, width: number): string {
		const wrapped = (line: string) => {
			const [, term = '', words] = /^( +.*\S {2,})(\S.*)$/.exec(line) ?? [];
			if (words === undefined) return line.startsWith(' ') ? line : super.boxWrap(line, width);
			return (
				term + super.boxWrap(words, width - term.length).replaceAll('\n', `\n${' '.repeat(term.length)}`)
			);
		};
		return text.split('\n').map(wrapped).join('\n');
	}

	override optionDescription(option: Option): string {
		// What a flag is without its value is in its text.
		const text = super.optionDescription(option).replace(/\(preset: "\w+", /, '(');
		return option.mandatory ? `${text} (required)` : text;
	}
}

/** Has a command say in one sentence what was typed wrongly, and where to read what is right. */
export function inPlainWords(command: Command): Command {
	command.createHelp = () => new PlainHelp();
	return command.configureOutput({
		outputError: (error, write) =>
			write(`caskade: ${misuse(command, error)} ${whatIsRight(command, error)}\n`),
	});
}

function misuse(command: Command, error: string): string {
	const missing = command.options.filter(
		(option) => option.mandatory && command.getOptionValue(option.attributeName()) === undefined,
	);
	const words = error
		.trim()
		.replace(/^error: /, '')
		.replace(
			/^required option .+ not specified$/,
			() => `${missing.map(({ flags }) => flags).join(' and ')} ${missing.length > 1 ? 'are' : 'is'} missing`,
		)
		.replace(/^missing required argument '(.+)'$/, '<$1> is missing')
		.replace(/^command-argument value ('.*') is invalid for argument '(.*?)'\./s, (_, value, name) =>
			invalid(value, `<${name}>`),
		)
		.replace(/^option '(--\S+)[^']*' argument ('.*?') is invalid\./s, (_, flag, value) =>
			invalid(value, flag),
		)
		.replace(/^option '--.*?' value ('.*') from env '(\w+)' is invalid\./s, (_, value, name) =>
			invalid(value, name),
		)
		.replace(/^(unknown (?:option|command) '.*?\/\/).*@/s, '$1…@')
		.replace(/\n\((.*)\)$/, '. $1');
	return /[.?]$/.test(words) ? words : `${words}.`;
}

/** An address may hold a password. */
function invalid(value: string, name: string): string {
	return `${value.replace(/\/\/.*@/s, '//…@')} is invalid as ${name}.`;
}

function whatIsRight(command: Command, error: string): string {
	const names: string[] = [];
	for (let each: Command | null = command; each; each = each.parent) names.unshift(each.name());
	if (names.length === 1 && error.includes('unknown option'))
		return `Options follow the command, as in '${names[0]} status --json'.`;
	return `See '${names.join(' ')} --help'.`;
}
