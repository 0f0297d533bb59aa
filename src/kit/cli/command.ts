import { Argument, Command as Commander, Option } from 'commander';
import { OperatorError } from '../../core/errors.ts';
import type { Account } from '../../core/store/control/control-store.ts';
import type { OpenStore } from '../../core/store/store.ts';
import {
	databaseSetting,
	filled,
	jsonSetting,
	type Plain,
	type Sets,
	setting,
	stageSetting,
	type Takes,
} from '../config.ts';
import { capitalised } from '../format/capitalised.ts';
import { type Begin, type CommonOptions, withStore } from './output.ts';
import { inPlainWords } from './plain-words.ts';

type Step = (command: Commander) => unknown;
/** What an argument is: `[id]` may be left out, `<file...>` are several. */
type ArgumentValue<Usage extends string, Value> = Usage extends `${string}...${string}`
	? readonly Value[]
	: Usage extends `[${string}`
		? Value | undefined
		: Value;

/** What can be added to the command line. */
export type Buildable = Pick<Declaration<unknown, []>, 'name' | 'build'>;

export function command(name: string, text: string): Declaration<object, []> {
	return new Declaration(name, text);
}

/** A command that has others. */
export function group(
	name: string,
	summary: string,
	description: string,
	commands: readonly Buildable[],
): Buildable {
	return {
		name,
		build() {
			const all = bare(name, summary, description);
			for (const one of commands) all.addCommand(one.build());
			return all;
		},
	};
}

/** Of commands whose rows go into a table. */
export const csvOption = ['--csv', 'print CSV, with a header'] as const;

/** Of commands that count visitors. Reports have it as a parameter. */
export const includeOption = [
	'--include <whom>',
	'gateways: also counts mail gateways, which are otherwise left out',
	['gateways'],
] as const;

/** What the help says of an argument that names an account. */
export const aidText = 'account token, for example c-a-acme-uk';

/**
 * What a command is called, takes and does. Commander's object is made for each run, because it keeps state.
 * @typeParam Options what its flags set
 * @typeParam Given its arguments
 */
export class Declaration<Options, Given extends readonly unknown[]> {
	readonly name: string;
	/** Its summary, where it has a description, too. */
	readonly #text: string;
	#description: string | undefined;
	#steps: Step[] = [];

	constructor(name: string, text: string) {
		this.name = name;
		this.#text = text;
	}

	build(): Commander {
		const command = bare(this.name, this.#text, this.#description);
		for (const step of this.#steps) step(command);
		return command;
	}

	description(text: string): this {
		this.#description = text;
		return this;
	}

	/** Does with Commander's object what there is no method for. @typeParam Set what flags set that are added */
	with<Set = object>(step: Step): Declaration<Options & Set, Given> {
		this.#steps.push(step);
		return this as never;
	}

	/** The parameters are those of `option`. */
	argument<Usage extends string, const Value = string>(
		usage: Usage,
		text: string,
		takes?: Takes<Value>,
		usual?: Value,
	): Declaration<Options, [...Given, ArgumentValue<Usage, Value>]> {
		this.#steps.push((command) => command.addArgument(filled(new Argument(usage, text), takes, usual)));
		return this as never;
	}

	/**
	 * @param takes its parser, or all that may be chosen
	 * @param usual what it is where the flag is left out
	 * @param usualText the same in the help
	 */
	option<Flags extends string, const Value = Plain<Flags>, Usual extends Value | undefined = undefined>(
		flags: Flags,
		text: string,
		takes?: Takes<Value>,
		usual?: Usual,
		usualText?: string,
	) {
		return this.with<Sets<Flags, Value, Usual>>((command) =>
			command.addOption(filled(new Option(flags, text), takes, usual, usualText)),
		);
	}

	/** An option that must be given. */
	required<Flags extends string, const Value = string>(flags: Flags, text: string, takes?: Takes<Value>) {
		return this.with<Sets<Flags, Value, Value>>((command) =>
			command.addOption(filled(new Option(flags, text), takes).makeOptionMandatory()),
		);
	}

	/** An option that the environment may set, too. */
	setting<Flags extends string, const Value = Plain<Flags>, Usual extends Value | undefined = undefined>(
		...declared: Parameters<typeof setting<Flags, Value, Usual>>
	) {
		return this.with<Sets<Flags, Value, Usual>>((command) => command.addOption(setting(...declared)));
	}

	/** Says which flags cannot be together with the one before. */
	conflicts(...names: string[]): this {
		this.#steps.push(({ options }) => options.at(-1)?.conflicts(names));
		return this;
	}

	/** Of an `update` command: refuses a call that changes nothing. */
	requireChange(): this {
		this.#steps.push((command) => command.hook('preAction', () => assertChange(command)));
		return this;
	}

	/** Adds the options of commands that open the store and print a result. */
	common() {
		return this.setting(...databaseSetting)
			.setting(...stageSetting)
			.setting(...jsonSetting);
	}

	/** What it does. */
	action(act: (options: Options, command: Commander, ...given: Given) => unknown): this {
		this.#steps.push((command) =>
			command.action(async (...all) => {
				await act(all.at(-2), command, ...(all.slice(0, -2) as unknown as Given));
			}),
		);
		return this;
	}

	/**
	 * What it does with the store, which is opened for it; it has the common options.
	 * @param begin see `withStore`
	 */
	onStore(
		act: (store: OpenStore, options: Options & CommonOptions, ...given: Given) => Promise<unknown>,
		begin: Begin = {},
	): this {
		this.common().action((options, _, ...given) =>
			withStore(options, (store) => act(store, options, ...given), begin),
		);
		return this;
	}

	/** What it does with the store and an account, which its first argument names. @throws OperatorError where there is none */
	onAccount(
		act: (
			store: OpenStore,
			account: Account,
			options: Options & CommonOptions,
			...given: Given
		) => Promise<unknown>,
	): this {
		this.#steps.unshift((command) => command.argument('<aid>', aidText));
		const withAid = this as unknown as Declaration<Options, [string, ...Given]>;
		withAid.onStore(async (store, options, aid, ...given) =>
			act(store, await store.control.account(aid), options, ...given),
		);
		return this;
	}
}

/** A command without options and arguments. */
export function bare(name: string, text: string, description = `${capitalised(text)}.`): Commander {
	return inPlainWords(new Commander(name)).summary(text).description(joined(description));
}

/** Joins the lines of each paragraph, because Commander wraps line by line. Lines that begin with a space stay as they are. */
function joined(text: string): string {
	return text.replaceAll(/^\t+/gm, '').replaceAll(/(?<=\S)\n(?=\S)/g, ' ');
}

function assertChange(command: Commander): void {
	const changes = command.options.filter(({ envVar }) => envVar === undefined);
	if (changes.some((option) => command.getOptionValueSource(option.attributeName()) === 'cli')) return;
	const flags = changes.filter(({ negate }) => !negate).map(({ long }) => long);
	throw new OperatorError(
		`There is nothing to change: set ${flags.join(', ').replace(/, (?=[^,]*$)/, ' or ')}.`,
	);
}

/** Parses a flag that may be repeated. Where its negation came before, it begins anew. */
export function repeated<Value>(parse: (value: string) => Value) {
	return (value: string, earlier: readonly Value[] | false = []): readonly Value[] => [
		...(earlier || []),
		parse(value),
	];
}

/** Parses a flag that may be repeated and whose values are objects, which are put together. */
export function merged<Value extends object>(parse: (value: string) => Value) {
	return (value: string, earlier: Value | false = {} as Value): Value => ({
		...(earlier || {}),
		...parse(value),
	});
}
