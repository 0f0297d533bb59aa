// Which service and which account the pages use. `server` is where the tag comes from.
window.shop = { server: 'http://127.0.0.1:8080', aid: 'c-a-demo-local' };
