import { accountsPage } from '../../capabilities/accounts/pages/accounts.ts';
import { segmentsPage } from '../../capabilities/accounts/pages/segments.ts';
import { settingsPage } from '../../capabilities/accounts/pages/settings.ts';
import { tagPage } from '../../capabilities/accounts/pages/tag.ts';
import { experimentsPage } from '../../capabilities/experiments/pages/experiments.ts';
import { uploadFilePage, uploadsPage } from '../../capabilities/history/pages/uploads.ts';
import { ownAccountPage } from '../../capabilities/people/pages/account.ts';
import { notesPage } from '../../capabilities/people/pages/notes.ts';
import { auditPage, peoplePage, personPage } from '../../capabilities/people/pages/people.ts';
import { viewsPage } from '../../capabilities/people/pages/views.ts';
import { attributionPage } from '../../capabilities/reports/pages/attribution.ts';
import { journeysPage } from '../../capabilities/reports/pages/journeys.ts';
import { overviewPage } from '../../capabilities/reports/pages/overview.ts';
import { reportFilePage, subscriptionFilePage } from '../../capabilities/reports/pages/report-file.ts';
import { retentionPage } from '../../capabilities/reports/pages/retention.ts';
import { revenuePage } from '../../capabilities/reports/pages/revenue.ts';
import { subscriptionsPage } from '../../capabilities/reports/pages/subscriptions.ts';
import { modelsPage, scoresPage } from '../../capabilities/training/pages/scores.ts';
import { systemPage } from '../../capabilities/upkeep/pages/system.ts';
import { customerPage, eraseCustomerPage } from '../../capabilities/visitors/pages/customer.ts';
import { eventFilePage, eventPage } from '../../capabilities/visitors/pages/event.ts';
import { eraseVisitorPage, visitorFilePage, visitorPage } from '../../capabilities/visitors/pages/visitor.ts';
import { visitorsPage } from '../../capabilities/visitors/pages/visitors.ts';
import { webhooksPage } from '../../capabilities/webhooks/pages/webhooks.ts';
import type { ConsolePage } from '../../kit/console/page.ts';

/** All pages, in the order of the menu. */
export const allPages: readonly ConsolePage[] = [
	overviewPage,
	attributionPage,
	journeysPage,
	revenuePage,
	retentionPage,
	scoresPage,
	modelsPage,
	segmentsPage,
	experimentsPage,
	tagPage,
	subscriptionsPage,
	subscriptionFilePage,
	visitorsPage,
	visitorPage,
	eraseVisitorPage,
	visitorFilePage,
	customerPage,
	eraseCustomerPage,
	eventPage,
	eventFilePage,
	uploadsPage,
	uploadFilePage,
	webhooksPage,
	settingsPage,
	notesPage,
	viewsPage,
	reportFilePage,
	accountsPage,
	systemPage,
	peoplePage,
	personPage,
	auditPage,
	ownAccountPage,
];
