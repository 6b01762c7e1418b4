# SPDX-License-Identifier: GPL-2.0-or-later
"""The protocols of the differential tests. A protocol needs a module that generates messages, a module with the
endpoints, and a row in PROTOCOLS."""
import dialogue
import dns_queries
import dns_resolvers
import dns_responses
import dns_servers
import ftp_servers
import ftp_sessions
import http_clients
import http_requests
import http_responses
import http_servers
import smtp_servers
import smtp_sessions
import tls_hellos
import tls_servers


class Protocol:
    """generate(number, seed) makes a message; `rules` are the drop rules on the forbidden words; `settings` are for
    sluice.

    An endpoint is a subclass of core.Endpoint with start(), stop() and understand(messages). understand() returns for
    each message whether the endpoint read the forbidden word at its place, or served a benign message."""
    rules, settings = '', ()
    drops_ambiguous = None  # setting that makes Sluice drop messages which endpoints interpret differently
    dialogue = False  # run by dialogue.py; messages are sessions, and understand() returns (records, results)

    def endpoints(self, nightly):
        """Returns the classes of the endpoints; with NIGHTLY also those that are large or slow."""
        raise NotImplementedError

    def known(self, m, endpoints):
        """Returns the documented limit that explains a finding, or None."""
        return None


def serving(kind, understood):
    """Makes an endpoint class from a server class: understood(message, answer) decides by the server's answer."""
    class Serving(kind):
        def understand(self, messages):
            return [understood(m, answer) for m, answer in zip(messages, self.exchange(messages))]
    return Serving


def fetching(kind, understood):
    """Makes an endpoint class from a client class: understood(message, result) decides by the client's result."""
    class Fetching(kind):
        def understand(self, messages):
            return self.understand_with(understood, messages)
    return Fetching


class HttpRequests(Protocol):
    rules, generate = http_requests.RULES, staticmethod(http_requests.generate)
    drops_ambiguous = 'app-layer.protocols.http.ambiguous-request-policy=drop'

    def endpoints(self, nightly):
        return [serving(kind, http_requests.understood) for kind in http_servers.SERVERS]

    def known(self, m, endpoints):
        return http_requests.limit_of(m)


class HttpResponses(Protocol):
    rules, generate = http_responses.RULES, staticmethod(http_responses.generate)
    drops_ambiguous = 'app-layer.protocols.http.ambiguous-response-policy=drop'

    def endpoints(self, nightly):
        return [fetching(kind, http_responses.understood)
                for kind in (*http_clients.CLIENTS, *(http_clients.NIGHTLY if nightly else ()))]

    def known(self, m, endpoints):
        return http_responses.limit_of(m)


class DnsQueries(Protocol):
    rules, generate = dns_queries.RULES, staticmethod(dns_queries.generate)

    def endpoints(self, nightly):
        return [serving(kind, dns_queries.understood)
                for kind in dns_servers.SERVERS + (dns_servers.NIGHTLY if nightly else ())]

    def known(self, m, endpoints):
        return dns_queries.limit(m)


class DnsResponses(Protocol):
    rules, generate = dns_responses.RULES, staticmethod(dns_responses.generate)

    def endpoints(self, nightly):
        return dns_resolvers.RESOLVERS


class TlsHellos(Protocol):
    rules, generate = tls_hellos.RULES, staticmethod(tls_hellos.generate)

    def endpoints(self, nightly):
        return [serving(kind, tls_hellos.understood)
                for kind in tls_servers.SERVERS + (tls_servers.NIGHTLY if nightly else ())]

    def known(self, m, endpoints):
        return tls_hellos.limit(m)


class Smtp(Protocol):
    dialogue, rules, generate = True, smtp_sessions.RULES, staticmethod(smtp_sessions.generate)

    def endpoints(self, nightly):
        return smtp_servers.SERVERS if nightly else smtp_servers.LIGHT

    def known(self, m, endpoints):
        if any(f in m.features for f in (f'{m.place}:rfc2047', f'{m.place}:rfc2047-q')):
            return 'encoded words (RFC 2047) are not decoded'
        if m.place is None and 'bdat' in m.features and set(endpoints) <= {'smtpd', 'aiosmtpd'}:
            return 'a reply without code, because the server repeats text of the client that contains a line end'
        return 'lines of a mail that end with a lone CR' if 'lines:cr' in m.features else None


class Ftp(Protocol):
    dialogue, rules, generate = True, ftp_sessions.RULES, staticmethod(ftp_sessions.generate)

    def endpoints(self, nightly):
        return ftp_servers.SERVERS if nightly else ftp_servers.LIGHT

    def known(self, m, endpoints):
        return None if dialogue.ends_line(m) \
            else 'a last command without a line end, which ProFTPD executes when the connection ends'


PROTOCOLS = {
    'http-requests': HttpRequests(),
    'http-responses': HttpResponses(),
    'dns': DnsQueries(),
    'dns-responses': DnsResponses(),
    'tls': TlsHellos(),
    'smtp': Smtp(),
    'ftp': Ftp(),
}
