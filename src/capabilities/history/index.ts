import type { Capability } from '../../kit/capability-declaration.ts';

/** Import, export, and upload of files. */
export const history: Capability = {
	name: 'history',
	commands: {
		events: async () => (await import('./commands/events-command.ts')).eventsCommand,
		export: async () => (await import('./commands/export-command.ts')).exportCommand,
		import: async () => (await import('./commands/import-command.ts')).importCommand,
		spend: async () => (await import('./commands/spend-command.ts')).spendCommand,
		upload: async () => (await import('./commands/upload-command.ts')).uploadCommand,
	},
	async pages() {
		const { uploadFilePage, uploadsPage } = await import('./pages/uploads.ts');
		return { pages: [uploadsPage, uploadFilePage] };
	},
};
