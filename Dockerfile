# By its exact version, not by its digest: no registry of images could be asked where this was written. `docker buildx imagetools
# inspect node:26.10.0-trixie-slim` prints the digest, to be added as node:26.10.0-trixie-slim@sha256:…, in both places.
FROM node:26.10.0-trixie-slim AS dependencies
WORKDIR /app
COPY package.json package-lock.json .npmrc ./
RUN npm ci --omit=dev --omit=optional --ignore-scripts

FROM node:26.10.0-trixie-slim
ENV NODE_ENV=production \
    CASKADE_DATABASE=sqlite:/data \
    CASKADE_HOST=0.0.0.0 \
    CASKADE_BEHIND_PROXY=true
WORKDIR /app
COPY --from=dependencies /app/node_modules node_modules
COPY package.json LICENSE ./
COPY client/src client/src
COPY bin bin
COPY demo demo
COPY migrations migrations
COPY src src
COPY deploy/docker/healthy.mjs healthy.mjs
# For --version and the log: docker build --build-arg COMMIT=$(git rev-parse HEAD)
ARG COMMIT
RUN echo "$COMMIT" > COMMIT
RUN mkdir --mode=700 /data && chown node:node /data
USER node
VOLUME /data
EXPOSE 8080 8081
HEALTHCHECK --interval=10s --timeout=5s --start-period=5s --retries=3 CMD ["node", "healthy.mjs"]
CMD ["node", "src/main.js", "serve"]
