-- The requests that wrk sends: hits like those of the tag. A fifth is from new visitors, who arrive from a campaign or another
-- site, or directly. The others continue random visits of the file VISITS (one `vid sid` per line), from page to page. A few
-- of the 200 pages get most of the hits. A fifth of the hits has an event.

local aid = os.getenv('AID')
local visits = {}
for visit in io.lines(os.getenv('VISITS')) do
	visits[#visits + 1] = string.format('"vid":"%s","sid":"%s",', string.sub(visit, 1, 32), string.sub(visit, 34, 65))
end
math.randomseed(os.time())

local heads = {}
for version = 1, 200 do
	heads[version] = 'POST /hit HTTP/1.1\r\nHost: 127.0.0.1\r\nOrigin: https://shop.example\r\nContent-Type: text/plain;charset=UTF-8\r\n'
		.. 'User-Agent: Mozilla/5.0 (Windows NT 10.0; Win64; x64) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/142.0.'
		.. version .. '.0 Safari/537.36\r\nContent-Length: '
end
local channels = {
	'', '', '?utm_source=news&utm_medium=email', '?gclid=abc123',
}
local referrers = { '', 'https://www.google.com/', 'https://www.facebook.com/', 'https://blog.example/post' }
local events = { 'scroll', 'video', 'add-to-basket', 'checkout' }

request = function()
	local page = math.floor(math.random() ^ 3 * 200)
	local isNew = math.random() < 0.2
	local body = '{"aid":"' .. aid .. '",'
		.. (isNew and '' or visits[math.random(#visits)])
		.. '"url":"https://shop.example/articles/page-' .. page .. (isNew and channels[math.random(#channels)] or '')
		.. '","referrer":"' .. (isNew and referrers[math.random(#referrers)] or 'https://shop.example/')
		.. '","title":"The page ' .. page .. '","events":['
		.. (math.random() < 0.2 and '{"name":"' .. events[math.random(#events)] .. '"}' or '') .. ']}'
	return heads[math.random(#heads)] .. #body .. '\r\n\r\n' .. body
end

dofile(os.getenv('SUMMARY'))
