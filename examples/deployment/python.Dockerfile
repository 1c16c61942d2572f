# A server in Python: server.py, and requirements.txt with `trunkline` in it.
FROM python:3.13-slim-bookworm
WORKDIR /app
COPY requirements.txt ./
RUN pip install --no-cache-dir --requirement requirements.txt
COPY server.py ./
USER 65534
EXPOSE 8000
HEALTHCHECK --interval=10s --timeout=2s --start-period=30s \
  CMD ["python", "-c", "import urllib.request as u; u.urlopen('http://127.0.0.1:8000/healthz')"]
# A list, so that SIGTERM reaches the server rather than a shell.
CMD ["python", "server.py"]
