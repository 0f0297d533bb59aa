import type { Capability } from '../../kit/capability.ts';

/** Import, export, and upload of files. */
export const history: Capability = {
	name: 'history',
	commands: {
		events: async () => (await import('./commands/events.ts')).eventsCommand,
		export: async () => (await import('./commands/export.ts')).exportCommand,
		import: async () => (await import('./commands/import.ts')).importCommand,
		spend: async () => (await import('./commands/spend.ts')).spendCommand,
		upload: async () => (await import('./commands/upload.ts')).uploadCommand,
	},
	async pages() {
		const { uploadFilePage, uploadsPage } = await import('./pages/uploads.ts');
		return { pages: [uploadsPage, uploadFilePage] };
	},
};
