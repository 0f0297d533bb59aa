# `npm ci && npm run build` makes the package that this image is made of, dist/caskade-1.0.0.tgz.
#
# The base is pinned by the digest of its index for all platforms. No registry of images could be asked where this was written: the
# digest is the one that ten published Dockerfiles of others name for this version. To pin a later one, take what
# `docker buildx imagetools inspect node:26-trixie-slim` prints.
ARG BASE=node:26.10.0-trixie-slim@sha256:930557a230abacbc3f4fd9b8648abf8f4bee1e17cb72195dcdfb2f709bc85b33

FROM $BASE AS package
COPY dist/caskade-1.0.0.tgz /tmp/caskade.tgz
# Types and source maps are for those who develop.
RUN npm install --global --ignore-scripts --no-audit --no-fund /tmp/caskade.tgz \
 && cd /usr/local/lib/node_modules/caskade \
 && find . '(' -name '*.map' -o -name '*.d.ts' -o -name '*.d.mts' -o -name '*.d.cts' ')' -delete

FROM $BASE
# What serves needs nothing that installs.
RUN rm -rf /usr/local/lib/node_modules /usr/local/bin/npm /usr/local/bin/npx /usr/local/bin/corepack /usr/local/bin/yarn /usr/local/bin/yarnpkg /opt/yarn-*
WORKDIR /app
COPY --from=package /usr/local/lib/node_modules/caskade .
COPY deploy/docker/healthy.mjs healthy.mjs
RUN ln -s /app/src/main.js /usr/local/bin/caskade \
 && mkdir --mode=700 /data \
 && chown node:node /data
ENV NODE_ENV=production \
    CASKADE_DATABASE=sqlite:/data \
    CASKADE_HOST=0.0.0.0 \
    CASKADE_BEHIND_PROXY=true
USER node
VOLUME /data
# The API, and the console, which is for people: publish it on loopback alone, as -p 127.0.0.1:8081:8081.
EXPOSE 8080 8081
HEALTHCHECK --interval=10s --timeout=5s --start-period=5s --retries=3 CMD ["node", "/app/healthy.mjs"]
CMD ["caskade", "serve"]
