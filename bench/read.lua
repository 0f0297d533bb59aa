-- What wrk sends: GETs of TARGET, each with one of the first MOST casks of the file CASKS (one a line) at random.

local target = os.getenv('TARGET')
local most = tonumber(os.getenv('MOST'))
local requests = {}
for cask in io.lines(os.getenv('CASKS')) do
	if #requests == most then break end
	requests[#requests + 1] = 'GET ' .. target .. '?cask=' .. cask
		.. ' HTTP/1.1\r\nHost: 127.0.0.1\r\nOrigin: https://shop.example\r\n\r\n'
end
math.randomseed(os.time())

request = function() return requests[math.random(#requests)] end

dofile(os.getenv('SUMMARY'))
