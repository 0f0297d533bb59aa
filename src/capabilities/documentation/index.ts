import type { Capability } from '../../kit/capability-declaration.ts';

/** The documentation that a server shows of itself. */
export const documentation: Capability = {
	name: 'documentation',
	async serving() {
		const { documentationPages } = await import('./operations/documentation.ts');
		return { operations: documentationPages };
	},
};
