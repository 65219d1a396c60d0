# The image of the gateway: its own user, a root directory that may be read-only, and nothing to write but
# /var/lib/bascule. The config is /etc/bascule/bascule.yaml. npm and npx stay in it, for backends that `npx` starts.
ARG NODE=docker.io/library/node:24-bookworm-slim

FROM ${NODE} AS build
WORKDIR /opt/bascule
COPY package.json package-lock.json ./
RUN npm ci --ignore-scripts --no-audit --no-fund
COPY . .
RUN node scripts/build.js && npm prune --omit=dev --ignore-scripts --no-audit --no-fund

FROM ${NODE}
RUN mkdir -p /etc/bascule && install -d -o 10001 -g 10001 -m 700 /var/lib/bascule \
  && ln -s /opt/bascule/bin/bascule.js /usr/local/bin/bascule
COPY --from=build /opt/bascule/package.json /opt/bascule/LICENSE /opt/bascule/THIRD-PARTY-NOTICES.md /opt/bascule/
COPY --from=build /opt/bascule/bin /opt/bascule/bin
COPY --from=build /opt/bascule/dist /opt/bascule/dist
COPY --from=build /opt/bascule/node_modules /opt/bascule/node_modules
ENV NODE_ENV=production HOME=/var/lib/bascule XDG_STATE_HOME=/var/lib
WORKDIR /etc/bascule
USER 10001:10001
EXPOSE 8808
HEALTHCHECK --interval=10s --timeout=6s --start-period=10s CMD ["bascule", "health"]
STOPSIGNAL SIGTERM
ENTRYPOINT ["bascule"]
CMD ["serve"]
