import type { Capability } from '../../kit/capability-declaration.ts';
import { allReports } from '../../kit/reports/all-reports.ts';

/** What visits led to, and what it was worth. */
export const reports: Capability = {
	name: 'reports',
	commands: {
		report: async () => (await import('./commands/report-command.ts')).reportCommand(await allReports()),
	},
	reports: {
		summary: async () => (await import('./summary.ts')).summaryReport,
		activity: async () => (await import('./activity.ts')).activityReport,
		attribution: async () => (await import('./attribution.ts')).attributionReport,
		paths: async () => (await import('./paths.ts')).pathsReport,
		funnel: async () => (await import('./funnel.ts')).funnelReport,
		trials: async () => (await import('./trials.ts')).trialsReport,
		movement: async () => (await import('./movement.ts')).movementReport,
		retention: async () => (await import('./retention.ts')).retentionReport,
		renewals: async () => (await import('./renewals.ts')).renewalsReport,
		ltv: async () => (await import('./lifetime-value.ts')).lifetimeValueReport,
		coverage: async () => (await import('./coverage.ts')).coverageReport,
		hosts: async () => (await import('./hosts.ts')).hostsReport,
		spend: async () => (await import('./spend.ts')).spendReport,
		forecast: async () => (await import('./forecast.ts')).forecastReport,
		subscriptions: async () => (await import('./subscriptions.ts')).subscriptionsReport,
	},
	async serving(server) {
		if (!server.roles.includes('api')) return {};
		const { reportOperations } = await import('./operations/reports.ts');
		return { operations: (app, guard) => reportOperations(app, { ...guard, ...server }) };
	},
	async pages() {
		const { accountCard, overviewPage } = await import('./pages/overview.ts');
		const { attributionPage, campaignsPage } = await import('./pages/attribution-page.ts');
		const { journeysPage } = await import('./pages/journeys.ts');
		const { revenuePage } = await import('./pages/revenue.ts');
		const { retentionPage } = await import('./pages/retention-page.ts');
		const { subscriptionsPage } = await import('./pages/subscriptions-page.ts');
		const { reportFilePages } = await import('./pages/report-file.ts');
		const shown = [
			overviewPage,
			attributionPage,
			campaignsPage,
			journeysPage,
			revenuePage,
			retentionPage,
			subscriptionsPage,
		];
		return { pages: [...shown, ...reportFilePages(await allReports())], cardOf: accountCard };
	},
	jobs: {
		async background({ store, work, log, signal }) {
			if (!work.followsLog) return undefined;
			const { runKeptDays } = await import('./jobs/kept-days-job.ts');
			return { running: runKeptDays(store, { log, signal }) };
		},
		compute: {
			report: async () => (await import('./jobs/make-report.ts')).makeReportJob,
		},
	},
};
