/** What each feature of a model counts, for people. Names of pages, channels and events stand behind a colon. */
const words: Readonly<Record<string, string>> = {
	hits: 'hits',
	pages: 'page views',
	visits: 'visits',
	activeDays: 'days with a visit',
	dwellMinutes: 'minutes on the site',
	hitsPerVisit: 'hits per visit',
	differentPages30d: 'different pages in 30 days',
	daysSinceFirst: 'days since the first visit',
	daysSinceLast: 'days since the latest hit',
	recentHits1d: 'hits of about the last day',
	recentHits7d: 'hits of about the last week',
	recentHits30d: 'hits of about the last month',
	recentVisits7d: 'visits of about the last week',
	recentVisits30d: 'visits of about the last month',
	recentEvents7d: 'page events of about the last week',
	recentEvents30d: 'page events of about the last month',
	visitHits: 'hits of the latest visit',
	visitDwellMinutes: 'minutes of the latest visit',
	subscriptions: 'subscription events',
	renewals: 'renewals',
	revenuePence: 'revenue',
	recentSubscriptions7d: 'subscription events of about the last week',
	recentSubscriptions30d: 'subscription events of about the last month',
	recentSubscriptions90d: 'subscription events of about the last 90 days',
	recentSubscriptions365d: 'subscription events of about the last year',
	daysSinceSubscription: 'days since the latest subscription event',
	daysPerSubscription: 'days from one subscription event to the next',
	pencePerSubscription: 'revenue per subscription event',
	subscriptionOverdue: 'time since the latest subscription event, against its usual time',
	visitOverdue: 'time since the latest visit, against its usual time',
	visitTrend: 'pace of visits this week, against this month',
	inactiveShare: 'share of the time without a visit since the first one',
	cadenceDays: 'days between renewals',
	daysUntilDue: 'days until the renewal is due',
	periodPassed: 'share of the time to renew that has passed',
	device: 'device',
	firstChannel: 'first channel',
	lastChannel: 'latest channel',
	landingPage: 'first page',
	lastPage: 'latest page',
	lastEvt: 'latest event type',
};

const named: Readonly<Record<string, (name: string) => string>> = {
	page: (name) => `days since page ${name}`,
	channel: (name) => `visits by ${name}`,
	channelShare: (name) => `share of visits by ${name}`,
	event: (name) => `page events ${name}`,
	evt: (name) => `subscription events ${name}`,
};

/** A feature's name in words; the name itself where it is not known. */
export function featureText(feature: string): string {
	const known = Object.hasOwn(words, feature) ? words[feature] : undefined;
	if (known !== undefined) return known;
	const [, kind = '', name = ''] = /^(\w+):(.*)$/su.exec(feature) ?? [];
	const text = Object.hasOwn(named, kind) ? named[kind] : undefined;
	return text ? text(name) : feature;
}
