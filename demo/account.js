// Which service and which account the pages use: the demo's account of the server that serves this file.
window.shop = {
	server: new URL('..', document.currentScript.src).href.replace(/\/$/, ''),
	aid: 'c-a-demo-local',
};
