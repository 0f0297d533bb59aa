import { Argument } from 'commander';

/** The argument that names an account. */
export function aidArgument(): Argument {
	return new Argument('<aid>', 'account token, for example c-a-acme-uk');
}
