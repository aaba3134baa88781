// scrollbars.jsx - in place of react-custom-scrollbars-2, which a bundle for browsers gets wrongly wrapped; a
// picture does not scroll.
import React from 'react';
export default React.forwardRef(({ children, style }, ref) => <div ref={ref} style={{ width: '100%', height: '100%', overflow: 'hidden', ...style }}>{children}</div>);
