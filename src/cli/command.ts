import { Command as CommanderCommand } from 'commander';
import { databaseOption, jsonOption, stageOption } from '../config.ts';
import { OperatorError } from '../errors.ts';
import type { Account } from '../store/control/control-store.ts';
import type { OpenStore } from '../store/store.ts';
import { type CommonOptions, withStore } from './output.ts';

export class Command extends CommanderCommand {
	constructor(name?: string) {
		super(name);
		// The prefix of every other error on the command line.
		this.configureOutput({ outputError: (text, write) => write(text.replace(/^error: /, 'caskade: ')) });
	}

	override createCommand(name?: string): Command {
		return new Command(name);
	}

	/**
	 * With a text, sets the description. Joins the lines of each paragraph, however far they are indented by tabs, because
	 * Commander wraps line by line. Lines that begin with a space stay as they are.
	 */
	override description(): string;
	override description(text: string): this;
	override description(text?: string): string | this {
		return text === undefined
			? super.description()
			: super.description(text.replaceAll(/^\t+/gm, '').replaceAll(/(?<=\S)\n(?=\S)/g, ' '));
	}

	/** Of an `update` command: refuses a call that changes nothing. Call it when all other options are added. */
	requireChange(): this {
		return this.hook('preAction', () => {
			const changes = this.options.filter(({ envVar }) => envVar === undefined);
			if (changes.some((option) => this.getOptionValueSource(option.attributeName()) === 'cli')) return;
			const flags = changes.filter(({ negate }) => !negate).map(({ long }) => long);
			throw new OperatorError(
				`There is nothing to change: set ${flags.join(', ').replace(/, (?=[^,]*$)/, ' or ')}.`,
			);
		});
	}

	/** Of a command that opens the store and prints a result. */
	addCommonOptions(): this {
		return this.addOption(databaseOption()).addOption(stageOption()).addOption(jsonOption());
	}

	/**
	 * What a command does with the store, which is opened for it; it has the common options. Call it when all else is added.
	 * @param act is given the arguments last
	 * @param begin.create whether the command may create the data folder
	 */
	onStore<Options extends CommonOptions, Given extends readonly unknown[]>(
		act: (store: OpenStore, options: Options, ...given: Given) => Promise<unknown>,
		begin: { readonly create?: boolean } = {},
	): this {
		return this.addCommonOptions().action(async (...all) => {
			const [options, given] = [all.at(-2) as Options, all.slice(0, -2) as unknown as Given];
			await withStore(options, (store) => act(store, options, ...given), begin);
		});
	}

	/** The same of a command about an account, whose first argument names it. @throws OperatorError where there is none */
	onAccount<Options extends CommonOptions, Given extends readonly unknown[]>(
		act: (store: OpenStore, account: Account, options: Options, ...given: Given) => Promise<unknown>,
	): this {
		return this.onStore(async (store, options: Options, aid: string, ...given: Given) =>
			act(store, await store.control.account(aid), options, ...given),
		);
	}
}
