import type { ConsolePage } from './page.ts';
import { ownAccountPage } from './pages/account.ts';
import { attributionPage } from './pages/attribution.ts';
import { customerPage, eraseCustomerPage } from './pages/customer.ts';
import { eventFilePage, eventPage } from './pages/event.ts';
import { experimentsPage } from './pages/experiments.ts';
import { journeysPage } from './pages/journeys.ts';
import { notesPage } from './pages/notes.ts';
import { overviewPage } from './pages/overview.ts';
import { auditPage, peoplePage, personPage } from './pages/people.ts';
import { reportFilePage, subscriptionFilePage } from './pages/report-file.ts';
import { retentionPage } from './pages/retention.ts';
import { revenuePage } from './pages/revenue.ts';
import { modelsPage, scoresPage } from './pages/scores.ts';
import { segmentsPage } from './pages/segments.ts';
import { settingsPage } from './pages/settings.ts';
import { subscriptionsPage } from './pages/subscriptions.ts';
import { systemPage } from './pages/system.ts';
import { tagPage } from './pages/tag.ts';
import { uploadFilePage, uploadsPage } from './pages/uploads.ts';
import { viewsPage } from './pages/views.ts';
import { eraseVisitorPage, visitorFilePage, visitorPage } from './pages/visitor.ts';
import { visitorsPage } from './pages/visitors.ts';
import { webhooksPage } from './pages/webhooks.ts';

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
	systemPage,
	peoplePage,
	personPage,
	auditPage,
	ownAccountPage,
];
