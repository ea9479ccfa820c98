#!/bin/sh
# Leaves in the working folder what roles need at run time. It is run while the image is built, behind the build of the pages.
set -eu

# Of the browser's pages alone, which are built. npm takes what only they needed along.
cp package.json /tmp/package.json
npm uninstall --omit=dev --no-audit --no-fund --ignore-scripts \
  react react-dom wouter uplot @base-ui/react @tanstack/react-query @ai-sdk/react
mv /tmp/package.json package.json

# A peer of Elysia and of the queue's, which ask for it only where they read types or a configuration in TypeScript.
rm -rf node_modules/typescript node_modules/@typescript node_modules/.bin/tsc

# Types, maps and manuals of packages; licences stay.
find node_modules -type f \( -name '*.map' -o -name '*.d.ts' -o -name '*.d.mts' -o -name '*.d.cts' \) -delete
find node_modules -type f \( -iname '*.md' -o -iname '*.markdown' \) ! -iname 'licen[cs]e*' ! -iname 'notice*' -delete
rm -rf node_modules/.package-lock.json

# Sources of what is built, and what is for those who build.
find docs -mindepth 1 -maxdepth 1 ! -name container -exec rm -rf {} +
rm -rf src/console loadtest README.md SECURITY.md package-lock.json docs/container/Dockerfile* docs/container/compose.yaml docs/container/prune.sh
