import type { ConsolePage } from './page.ts';
import { ownAccountPage } from './pages/account.ts';
import { attributionPage } from './pages/attribution.ts';
import { journeysPage } from './pages/journeys.ts';
import { overviewPage } from './pages/overview.ts';
import { auditPage, peoplePage, personPage } from './pages/people.ts';
import { reportFilePage } from './pages/report-file.ts';
import { retentionPage } from './pages/retention.ts';
import { revenuePage } from './pages/revenue.ts';

/** All pages, in the order of the menu. */
export const allPages: readonly ConsolePage[] = [
	overviewPage,
	attributionPage,
	journeysPage,
	revenuePage,
	retentionPage,
	reportFilePage,
	peoplePage,
	personPage,
	auditPage,
	ownAccountPage,
];
