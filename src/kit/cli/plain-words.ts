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
	const are = `${missing.map(({ flags }) => flags).join(' and ')} ${missing.length > 1 ? 'are' : 'is'} missing`;
	const words = error
		.trim()
		.replace(/^error: /, '')
		.replace(/^required option .+ not specified$/, () => are)
		.replace(/^missing required argument '(.+)'$/, '<$1> is missing')
		.replace(
			/^(?:command-argument|option '(--\S+).*?') (?:argument|value) ('.*?') (?:from env '(\w+)' )?is invalid(?: for argument '(.*?)')?\./s,
			(_, flag, value, variable, argument) =>
				`${value} is invalid as ${argument ? `<${argument}>` : (variable ?? flag)}.`,
		)
		// An address may hold a password.
		.replace(/^((?:unknown \w+ )?'.*?\/\/).*@(?=\S*')/s, '$1…@')
		.replace(/\n\((.*)\)$/, '. $1');
	return /[.?]$/.test(words) ? words : `${words}.`;
}

function whatIsRight(command: Command, error: string): string {
	const names: string[] = [];
	for (let each: Command | null = command; each; each = each.parent) names.unshift(each.name());
	return names.length === 1 && error.includes('unknown option')
		? `Options follow the command, as in '${names[0]} status --json'.`
		: `See '${names.join(' ')} --help'.`;
}
